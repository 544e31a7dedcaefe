/**
 * A credential is sealed for the workspace, the kind and the settings of its connection too. Those that were sealed before are not bound yet,
 * and the next start seals them anew.
 */
export const boundCredentials: ReadonlyArray<string> = [
  `alter table credentials add column is_bound integer not null default 0`
]
