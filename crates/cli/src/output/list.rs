//! Lists of tasks for people.

use nuncio_model::op::ListTasksResponse;

use super::Text;

impl Text {
    pub(crate) fn tasks(&mut self, page: &ListTasksResponse, next: Option<&str>) {
        for task in &page.tasks {
            self.gap();
            if self.is_verbose {
                self.task(task);
                continue;
            }
            self.head(&task.id, task.context_id.as_ref());
            self.field("State", task.state().short());
            self.field_if("Updated", task.status.timestamp.map(|time| time.to_string()).as_deref());
            // They come where they were asked for.
            task.artifacts.iter().for_each(|artifact| self.artifact(artifact));
        }
        self.gap();
        self.field("Shown", &page.tasks.len().to_string());
        self.field("Total", &page.total_size.to_string());
        self.field_if("Next-Page", Some(&*page.next_page_token));
        self.field_if("Next", next);
    }
}
