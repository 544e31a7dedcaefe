const blank = "[secret]"

/** The forms of keys and tokens that are known by their beginnings, and of private keys. */
const forms: ReadonlyArray<RegExp> = [
  /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/g,
  /\b(?:rk_|rsh_|whsec_|gh[pousr]_|github_pat_|glpat-|gto_|sk-|sk_live_|rk_live_|npm_|hf_|xox[abprs]-)[\w-]{20,}/g,
  /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/g,
  /\bAIza[\w-]{35}/g,
  /\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}/g
]

/** Credentials in an address, as in `https://user:password@host`. */
const inAddress = /\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@"'<>]+@/gi

/** The text without what looks like a secret. */
export const blankPatterns = (text: string): string =>
  forms.reduce((blanked, form) => blanked.replace(form, blank), text).replace(inAddress, `$1${blank}@`)
