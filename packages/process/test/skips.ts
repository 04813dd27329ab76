/** The clauses of `sourceContract` that no source of this package can hold, with the reasons. */
export function skipsOf(what: string) {
  const unread = `${what} does not show what a session held before: only its runs are seen.`
  const one = `${what} runs one prompt at a time.`
  return {
    'finds a session without its directory': unread,
    "reads a session's newest run": unread,
    'reads back to the messages that are asked for': unread,
    'reads one message': unread,
    "lists a session's sub-agents": unread,
    'lists sessions, those that changed since then, and the newest time': unread,
    'requests what covers several sessions once per reading': unread,
    'reads a run as its events told it': unread,
    'keeps a queued prompt behind a run, and lists it': one,
    'takes back a prompt that waits, once': one,
    'only stores a message without a reply': `${what} takes no notes.`,
    'lists its agents, including one to prompt': `${what} has no list of agents.`,
    'forks a session with its messages': unread,
    'reverts to a message, and takes it back': unread,
  }
}
