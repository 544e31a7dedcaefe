import { CommandFailed } from "../CommandFailed.js"
import { target } from "./Profile.js"
import { chooseRepository } from "./Repository.js"

/** True in a repository, for a person who has a server and a key for it. */
export const canTalkHere = (): boolean => {
  try {
    const { apiKey, url } = target()
    return url !== undefined && apiKey !== undefined && chooseRepository(".", undefined).url !== ""
  } catch (error) {
    // There is no repository, or no home for a profile.
    if (error instanceof CommandFailed) return false
    throw error
  }
}
