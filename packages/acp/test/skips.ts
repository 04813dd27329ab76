const unread = 'ACP shows no state of sessions: `session/load` only replays a conversation.'
const one = 'An ACP session runs one prompt at a time.'

/** What no ACP agent does, by the contract's clauses. */
export const contractSkips = {
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
  'only stores a message without a reply': 'ACP has no notes.',
  'lists its models': 'The models are settings of a session, and there is none yet.',
  'lists its agents, including one to prompt': 'The modes are those of a session, and there is none yet.',
  'lists its commands': 'The commands are those of a session, and there is none yet.',
  'runs a command': 'The scripted agent has none.',
  'tells the agent why a permission is rejected': 'The answer to a permission is one of the options, without words.',
  "answers a sub-agent's permission, and lists the sub-agent as a child": 'ACP 1 has no sub-agents.',
  'forks a session with its messages': 'ACP 1 has no stable way to fork.',
  'reverts to a message, and takes it back': 'ACP 1 reverts nothing.',
} as const
