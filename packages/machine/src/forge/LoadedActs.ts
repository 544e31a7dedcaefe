import { Effect } from "effect"
import type { ForgeActs } from "./Forge.js"

/** The acts around merge requests, loaded with the first use. */
export const loadedActs = (load: () => Promise<ForgeActs>): ForgeActs => {
  const acts = Effect.promise(load)
  return {
    log: (check) => Effect.flatMap(acts, ({ log }) => log(check)),
    rerun: (check) => Effect.flatMap(acts, ({ rerun }) => rerun(check)),
    reply: (number, text, thread) => Effect.flatMap(acts, ({ reply }) => reply(number, text, thread)),
    posted: (number, mark, thread) => Effect.flatMap(acts, ({ posted }) => posted(number, mark, thread)),
    setDraft: (number, draft) => Effect.flatMap(acts, ({ setDraft }) => setDraft(number, draft))
  }
}
