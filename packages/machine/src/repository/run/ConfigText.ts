/** A value in a settings file of git, in quotes. */
export const quoteConfig = (value: string): string => `"${value.replace(/[\\"]/g, "\\$&")}"`
