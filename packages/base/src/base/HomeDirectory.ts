import { homedir } from "node:os"

/** The home of the user; undefined for a user that has none, as one in a container that is a number without a name. */
export const homeDirectory = (): string | undefined => {
  try {
    return homedir()
  } catch {
    return undefined
  }
}
