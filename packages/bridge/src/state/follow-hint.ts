const followHintPrefix = 'follow/'

/** Returns the hint that has the watches of a server look again, for a session also if a chat follows it already. */
export function followHint(server: string, sessionID = ''): string {
  return `${followHintPrefix}${encodeURIComponent(server)}/${encodeURIComponent(sessionID)}`
}

/** Returns the server and the session of `followHint`. Undefined for another hint. */
export function toFollowHint(hint: string): { readonly server: string; readonly sessionID?: string } | undefined {
  if (!hint.startsWith(followHintPrefix)) return undefined
  const [server = '', sessionID = ''] = hint.slice(followHintPrefix.length).split('/').map(decodeURIComponent)
  return { server, ...(sessionID !== '' && { sessionID }) }
}
