/** An update of an agent, the list in it, the fields that are read of an element, and those of the update. */
interface Update {
  readonly update: Readonly<Record<string, unknown>>
  readonly list?: string
  readonly fields?: ReadonlyArray<string>
  readonly ofAll: ReadonlyArray<string>
  /** Texts of the other elements, which stay. */
  readonly stays?: ReadonlyArray<string>
}

/** An option of an agent. */
export const option = (id: string) => ({
  id,
  name: id,
  description: "d",
  category: "mode",
  currentValue: "a",
  options: [{ value: "a", name: "A", description: "" }]
})

/** Updates of every kind that the protocol has. */
export const updates: Readonly<Record<string, Update>> = {
  words: {
    update: { sessionUpdate: "agent_message_chunk", messageId: "m", content: { type: "text", text: "Words" } },
    ofAll: ["messageId", "content", "content.type", "content.text", "sessionUpdate"]
  },
  images: {
    update: {
      sessionUpdate: "agent_message_chunk",
      content: { type: "image", data: "AAAA", mimeType: "image/png", uri: "file:///a.png" }
    },
    ofAll: ["content.data", "content.mimeType", "content.uri"]
  },
  resources: {
    update: {
      sessionUpdate: "agent_message_chunk",
      content: { type: "resource_link", uri: "file:///a", name: "a", mimeType: "text/plain" }
    },
    ofAll: ["content.uri", "content.name", "content.mimeType"]
  },
  "calls of tools": {
    update: {
      sessionUpdate: "tool_call",
      toolCallId: "t",
      title: "Run",
      kind: "execute",
      status: "pending",
      content: ["first", "odd", "last"].map((path) => ({ type: "diff", path, oldText: null, newText: "a" })),
      locations: [{ path: "a", line: 1 }],
      rawInput: { command: "make" },
      rawOutput: { output: "done" }
    },
    list: "content",
    fields: ["type", "path", "oldText", "newText"],
    ofAll: ["toolCallId", "title", "kind", "status", "locations", "locations.0.path", "locations.0.line", "rawInput"],
    stays: ["first", "last"]
  },
  plans: {
    update: {
      sessionUpdate: "plan",
      entries: ["first", "odd", "last"].map((content) => ({ content, priority: "high", status: "pending" }))
    },
    list: "entries",
    fields: ["content", "priority", "status"],
    ofAll: [],
    stays: ["first", "last"]
  },
  "plans with an id": {
    update: {
      sessionUpdate: "plan_update",
      plan: { planId: "p", content: "text", uri: "file:///p", entries: [{ content: "a" }] }
    },
    ofAll: ["plan", "plan.planId", "plan.content", "plan.uri", "plan.entries", "plan.entries.0.content"]
  },
  commands: {
    update: {
      sessionUpdate: "available_commands_update",
      availableCommands: ["first", "odd", "last"].map((name) => ({ name, description: "", input: { hint: "h" } }))
    },
    list: "availableCommands",
    fields: ["name", "description", "input", "input.hint"],
    ofAll: [],
    stays: ["first", "last"]
  },
  options: {
    update: { sessionUpdate: "config_option_update", configOptions: ["first", "odd", "last"].map(option) },
    list: "configOptions",
    fields: ["id", "name", "description", "category", "currentValue", "options"],
    ofAll: [
      "configOptions.1.options.0.value",
      "configOptions.1.options.0.name",
      "configOptions.1.options.0.description"
    ],
    stays: ["first", "last"]
  },
  compactions: {
    update: {
      sessionUpdate: "compaction_update",
      compactionId: "c",
      status: "completed",
      summary: ["first", "odd", "last"].map((text) => ({ type: "text", text })),
      error: "e"
    },
    list: "summary",
    fields: ["type", "text"],
    ofAll: ["compactionId", "status", "error"],
    stays: ["first", "last"]
  },
  notices: {
    update: { sessionUpdate: "notice", severity: "info", title: "t", description: "d" },
    ofAll: ["severity", "title", "description"]
  },
  titles: { update: { sessionUpdate: "session_info_update", title: "t" }, ofAll: ["title"] },
  "figures of the context": {
    update: { sessionUpdate: "usage_update", used: 10, size: 100, cost: { amount: 1, currency: "USD" } },
    ofAll: ["used", "size", "cost", "cost.amount", "cost.currency"]
  }
}
