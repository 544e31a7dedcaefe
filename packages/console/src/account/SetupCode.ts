import { signal } from "@preact/signals"

/** The code of the link that makes the first account of a server; empty without one. */
export const setupCode = signal("")

/** The things that the link fills in: an address of a person, and one of a gateway. */
export const setupEmail = signal("")
export const setupGateway = signal("")

/** Takes the code out of the address, where it would stay in the history and in what people copy. */
export const takeSetupCode = (): void => {
  const given = new URLSearchParams(location.hash.slice(1))
  const code = given.get("setup")
  if (code === null || !/^[\w-]+$/.test(code)) return
  setupCode.value = code
  setupEmail.value = given.get("email") ?? ""
  setupGateway.value = given.get("gateway") ?? ""
  history.replaceState(null, "", location.pathname + location.search)
}
