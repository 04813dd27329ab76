import type { SourceClauseName } from './source-contract.ts'

/**
 * The clauses of `sourceContract` that a source of `createLocalAgent` without `read` can't fulfill, each with the reason.
 * Pass them as `skip`. `agent` begins the sentences, for example `Claude Code` or `A command`.
 */
export function localAgentSkips(agent: string) {
  const noHistory = `${agent} does not report the content of earlier sessions, only of its runs.`
  return {
    'finds a session without its directory': noHistory,
    "reads a session's newest run": noHistory,
    'reads back to the messages that are asked for': noHistory,
    'reads one message': noHistory,
    "lists a session's sub-agents": noHistory,
    'lists sessions, those that changed since then, and the newest time': noHistory,
    'requests what covers several sessions once per reading': noHistory,
    'reads the messages of a run as its events had them': noHistory,
    ...readableAgentSkips(agent),
    'forks a session with its messages': noHistory,
  } as const satisfies Partial<Readonly<Record<SourceClauseName, string>>>
}

/**
 * The clauses of `sourceContract` that a source of `createLocalAgent` with `read` can't fulfill, each with the reason,
 * unless its agent takes several prompts of a session at once, or has agents to list.
 */
export function readableAgentSkips(agent: string) {
  const onePrompt = `${agent} runs one prompt of a session at a time.`
  return {
    'keeps a queued prompt behind a run, and lists it': onePrompt,
    'takes back a prompt that waits, once': onePrompt,
    'only stores a message without a reply': `${agent} can't store a message without a run.`,
    'lists what is always allowed, and takes it back': `${agent} stores its rules itself and doesn't list them.`,
    'lists its agents, including one to prompt': `${agent} has no list of agents before its first session.`,
    'asks before it acts in a guarded session, or refuses it': `${agent} can't be set to ask in a single session.`,
    'reverts to a message, and takes it back': `${agent} can't undo what it has done.`,
  } as const satisfies Partial<Readonly<Record<SourceClauseName, string>>>
}

/**
 * The clauses of `sourceContract` that a source without asks can't fulfill, each with the reason. `agent` begins the
 * sentences, for example `A command`.
 */
export function unaskingSkips(agent: string) {
  const cannotAsk = `${agent} can't ask: it receives nothing after its prompt.`
  return {
    'lists a permission with its call, and allows it once': cannotAsk,
    'allows what a permission says is always allowed': cannotAsk,
    'fails as gone for an ask that was answered': cannotAsk,
    'rejects a permission': cannotAsk,
    'tells the agent why a permission is rejected': cannotAsk,
    'answers a question': cannotAsk,
    'rejects a question': cannotAsk,
    'does not send an answer whose signal has aborted': cannotAsk,
    "answers a sub-agent's permission, and lists the sub-agent as a child": cannotAsk,
  } as const satisfies Partial<Readonly<Record<SourceClauseName, string>>>
}
