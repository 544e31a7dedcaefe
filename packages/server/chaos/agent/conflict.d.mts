import type { Step } from "reins-example-scripted-gateway/gateway.mjs"

/** The text of a file whose conflict is resolved. */
export const bothSides: string

/** What the model does about a conflict that its prompt names. Null when the prompt names none. */
export const conflictSteps: (prompt: string) => Array<Step> | null
