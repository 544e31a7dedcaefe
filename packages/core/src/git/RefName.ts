import { Effect } from "effect"
import { GitError } from "./GitError.js"

// The bytes and sequences that git itself refuses in a ref name.
const forbidden = /[ ~^:?*[\\]|\.\.|@\{|\/\/|^\/|\/$|\.$|^@$/

const hasControl = (name: string): boolean =>
  [...name].some((character) => {
    const code = character.codePointAt(0) ?? 0
    return code < 0x20 || code === 0x7f
  })

const isComponent = (part: string): boolean =>
  part !== "" && !part.startsWith(".") && !part.endsWith(".lock") && !part.startsWith("-")

/** True for a branch, tag or `refs/...` name that git accepts and that no command takes for an option. */
export const isRefName = (name: string): boolean =>
  name.length > 0 &&
  Buffer.byteLength(name) <= 200 &&
  !forbidden.test(name) &&
  !hasControl(name) &&
  name.split("/").every(isComponent)

/** Fails with `ref_not_found` unless `isRefName`. */
export const requireRefName = (name: string): Effect.Effect<void, GitError> =>
  isRefName(name)
    ? Effect.void
    : Effect.fail(
        new GitError({
          kind: "ref_not_found",
          message: "The name is not a valid branch or tag name: use letters, digits, '.', '_', '-' and '/'."
        })
      )
