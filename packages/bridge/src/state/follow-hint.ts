const followHintPrefix = 'follow/'

/** Returns the hint that has the watches of a server look again, for these sessions also if a chat follows them already. */
export function followHint(server: string, ...sessionIDs: readonly string[]): string {
  return `${followHintPrefix}${[server, ...sessionIDs].map(encodeURIComponent).join('/')}`
}

/** Returns the server and each session of `followHint`, or the server alone if it names none. Empty for another hint. */
export function toFollowHint(hint: string): readonly { readonly server: string; readonly sessionID?: string }[] {
  if (!hint.startsWith(followHintPrefix)) return []
  const [server = '', ...sessionIDs] = hint.slice(followHintPrefix.length).split('/').map(decodeURIComponent)
  return sessionIDs.length === 0 ? [{ server }] : sessionIDs.map((sessionID) => ({ server, sessionID }))
}
