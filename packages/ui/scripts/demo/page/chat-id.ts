/** The chat that the address names, so that a reload and a second tab show the same one. Names a new one if there is none. */
export function chatIdInAddress(): string {
  const address = new URL(location.href)
  const known = address.searchParams.get('chat')
  if (known) return known
  const chatId = crypto.randomUUID()
  address.searchParams.set('chat', chatId)
  history.replaceState(undefined, '', address)
  return chatId
}
