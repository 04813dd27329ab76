import type { SourceClauseName } from './source-contract.ts'

/**
 * The clauses of `sourceContract` that no source of `createLocalAgent` can fulfill, each with the reason. Pass them as
 * `skip`. `agent` begins the sentences, for example `Claude Code` or `A command`.
 */
export function localAgentSkips(agent: string) {
  const unread = `${agent} does not show what a session held before: only its runs are seen.`
  const one = `${agent} runs one prompt of a session at a time.`
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
    'only stores a message without a reply': `${agent} takes no notes.`,
    'lists what is always allowed, and takes it back': `${agent} keeps that itself, and lists it nowhere.`,
    'lists its agents, including one to prompt': `${agent} has no list of agents before its first session.`,
    'asks before it acts in a guarded session, or refuses it': `${agent} can't be told for one session to ask.`,
    'forks a session with its messages': unread,
    'reverts to a message, and takes it back': unread,
  } as const satisfies Partial<Readonly<Record<SourceClauseName, string>>>
}

/**
 * The clauses of `sourceContract` that a source without asks can't fulfill, each with the reason. `agent` begins the
 * sentences, for example `A command`.
 */
export function unaskingSkips(agent: string) {
  const mute = `${agent} can't ask: nothing is sent to it once it has its prompt.`
  return {
    'lists a permission with its call, and allows it once': mute,
    'allows what a permission says is always allowed': mute,
    'says gone for an ask that was answered': mute,
    'rejects a permission': mute,
    'tells the agent why a permission is rejected': mute,
    'answers a question': mute,
    'rejects a question': mute,
    'does not send an answer whose signal has aborted': mute,
    "answers a sub-agent's permission, and lists the sub-agent as a child": mute,
  } as const satisfies Partial<Readonly<Record<SourceClauseName, string>>>
}
