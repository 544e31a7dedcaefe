import { sessionEvents } from "./Events.js"
import { layer } from "./Services.js"

/** Conversations: sessions, messages, turns, questions, usage. */
export const sessions = {
  name: "sessions",
  layer,
  tables: ["sessions", "messages", "turns", "uploads", "interactions", "model_calls"],
  events: sessionEvents
} as const
