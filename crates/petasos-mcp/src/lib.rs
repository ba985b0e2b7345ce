//! MCP in both directions: other programs' tools for our agents, and our tools for other hosts.
