// @ts-check
/** The text of a file whose conflict is resolved. */
export const bothSides = "Both sides.\n"

/**
 * What the model does about a conflict that its prompt names: it writes the file anew. Null when the prompt names none.
 *
 * @param {string} prompt
 * @returns {Array<{ tool: string, path: string, content: string } | { say: string }> | null}
 */
export const conflictSteps = (prompt) => {
  const [, path] = /^Conflict in: ("(?:[^"\\]|\\.)*")$/m.exec(prompt) ?? []
  return path === undefined
    ? null
    : [{ tool: "write", path: JSON.parse(path), content: bothSides }, { say: "It has both." }]
}
