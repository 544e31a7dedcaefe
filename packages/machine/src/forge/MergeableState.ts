import { foreignName } from "@reins/base/base/ForeignText"
import type { RemoteObstacle } from "./ForgeView.js"

/** States of GitHub in which it merges, or whose obstacle other fields tell. */
const fine: ReadonlySet<string> = new Set(["clean", "has_hooks", "unstable", "draft", "dirty"])

const sentences: Readonly<Record<string, string>> = {
  blocked: "The forge says that a rule of the base branch is not met.",
  behind: "The base branch has moved on, and the forge wants the branch to have its commits first.",
  unknown: "The forge has not computed yet if it merges."
}

/** The word of GitHub against a merge; undefined for none. A word that is not known is one. */
export const obstacleOf = (mergeable: boolean | null, state: string | undefined): RemoteObstacle | undefined => {
  if (state === undefined || fine.has(state) || (state === "unknown" && mergeable === null)) return undefined
  const word = foreignName(state, 100)
  const say = Object.hasOwn(sentences, state) ? sentences[state] : undefined
  return { word, say: say ?? `The forge gives the state ${JSON.stringify(word)}. Its page says more.` }
}
