import type { Reins } from "@reins/client"

/** The first workspace that the credentials reach. */
export const ownWorkspace = (reins: Reins): (() => Promise<string>) => {
  let asked: Promise<string> | undefined
  return () => {
    asked ??= reins.accounts.getMe().then(({ workspaces: [first] }) => {
      if (first === undefined) throw new TypeError("These credentials reach no workspace.")
      return first.id
    })
    return asked
  }
}
