/** Asks until the answer is not undefined. Fails in words after a time that only a broken server takes. */
export const eventually = async <A>(
  what: string,
  ask: () => Promise<A | undefined> | A | undefined,
  limitMs = 120_000
): Promise<A> => {
  const until = performance.now() + limitMs
  for (;;) {
    const answer = await ask()
    if (answer !== undefined) return answer
    if (performance.now() > until) throw new Error(`It did not come to be: ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}
