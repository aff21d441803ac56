#!/bin/sh
# A trip planner with JSON lines: asks a question, streams, and returns a file and data. No library is needed.
#
#     nuncio serve --jsonl -- sh planner.sh
#     nuncio send -a 127.0.0.1:8080 Lisbon         # the agent asks a question; answer with --task-id

status() { printf '{"statusUpdate":{"status":{"state":"TASK_STATE_%s","message":{"parts":[{"text":"%s"}]}}}}\n' "$1" "$2"; }

# The first text in JSON, up to the first unescaped quote. The text stays escaped, because it is written as JSON again.
text_of() { printf '%s' "${1#*'"text":"'}" | sed 's/^\([^"\\]*\(\\.[^"\\]*\)*\)".*/\1/'; }

read -r request
answer=$(text_of "$request") # the message comes first in the line

case $request in
*'"task":{'*) ;;
*) # The first turn has no task yet. One process runs one turn, so ask a question and exit.
    status INPUT_REQUIRED "How many days in $answer?"
    exit ;;
esac

# A later turn: the task has the earlier messages.
place=$(text_of "${request#*'"history":['}")
case $answer in
[1-5]) ;;
*)
    status INPUT_REQUIRED "A number from 1 to 5, please."
    exit ;;
esac

status WORKING "Planning $answer days in $place"
day=0 plan=
for idea in "walk through the old town" "visit a museum" "take a boat" "climb a hill" "sit in a park"; do
    [ "$day" -lt "$answer" ] || break
    day=$((day + 1))
    plan="${plan}Day $day: $idea
"
    printf '{"text":"Day %s: %s\\n"}\n' "$day" "$idea" # a chunk of the default artifact
    sleep 0.1
done

file=$(printf '%s' "$plan" | base64 | tr -d '\n')
printf '{"artifactUpdate":{"artifact":{"artifactId":"file","parts":[{"raw":"%s","filename":"plan.txt","mediaType":"text/plain"}]}}}\n' "$file"
printf '{"artifactUpdate":{"artifact":{"artifactId":"data","parts":[{"data":{"place":"%s","days":%s}}]}}}\n' "$place" "$day"
status COMPLETED "Enjoy $place!"
