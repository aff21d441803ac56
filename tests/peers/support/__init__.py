"""What the peer tests share: processes, wires, clients and checks."""
