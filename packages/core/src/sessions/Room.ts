import { sessionEvents } from "./Events.js"

/** Conversations: sessions, messages, turns, questions, usage. */
export const sessions = {
  name: "sessions",
  tables: ["sessions", "messages", "turns", "uploads", "interactions", "model_calls"],
  events: sessionEvents
} as const
