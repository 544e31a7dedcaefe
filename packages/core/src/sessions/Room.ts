import * as operations from "./Operations.js"
import { expireCalls } from "./questions/ExpireCalls.js"
import { layer } from "./Services.js"

/** Conversations: sessions, messages, turns, questions, usage. */
export const sessions = {
  name: "sessions",
  layer,
  operations,
  tables: ["sessions", "messages", "turns", "uploads", "interactions", "model_calls"],
  sweeps: { "overdue tool calls": expireCalls }
} as const
