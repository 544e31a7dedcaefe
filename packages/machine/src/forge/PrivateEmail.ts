/** The address `<id><between><login>@users.noreply.<host>`; undefined for an id or a login of another form. */
export const privateEmailOf = (id: unknown, between: string, login: unknown, host: string): string | undefined =>
  typeof id === "number" && Number.isSafeInteger(id) && typeof login === "string" && /^[\w.-]{1,255}$/.test(login)
    ? `${id}${between}${login}@users.noreply.${host}`
    : undefined
