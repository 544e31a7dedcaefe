import { fileURLToPath } from "node:url"

/** The built files of the console, beside the folder of the code that serves them. */
export const consoleDirectory = (): string => fileURLToPath(new URL("../console/", import.meta.url))
