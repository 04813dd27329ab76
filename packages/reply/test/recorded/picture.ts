import type { Change, Observation, Part, Reply, ReplyObserver } from '../../src/index.ts'

/** What of a reply must be the same whether or not its stream was whole. Times, asks that came and went, and what a retry took back are not. */
export function comparable(reply: Reply): unknown {
  return {
    outcome: reply.outcome,
    finish: reply.finish,
    todos: reply.todos,
    steps: reply.usage.steps,
    messages: reply.messages.map((message) => ({
      id: message.id,
      error: message.error?.name,
      finish: message.finish,
      // What a server that died had not stored is known to those alone who listened.
      parts: message.parts
        .filter((part) => part.status !== 'abandoned')
        .map((part) => comparablePart(part, reply.outcome === 'lost')),
    })),
    // A background sub-agent that outlived the reply goes on in the next one.
    children: reply.children
      .filter((child) => child.reply.phase === 'settled')
      .map((child) => [child.callID, child.title, comparable(child.reply)]),
  }
}

function comparablePart(part: Part, isLost: boolean): unknown {
  const { id, type, status } = part
  if (part.type === 'tool') return [id, type, status, part.tool, part.state.status, part.state.output, part.state.error]
  return [id, type, status, 'text' in part && !isLost ? part.text : undefined]
}

/** What one observer was told of one reply, and what was wrong with the telling. */
export interface Heard {
  newest: Reply | undefined
  settled: number
  readonly problems: string[]
}

/** An observer that believes nothing: it follows each part by what it is told alone. */
export function createListener(): { readonly heard: Heard; readonly observer: ReplyObserver } {
  const heard: Heard = { newest: undefined, settled: 0, problems: [] }
  const texts = new Map<string, string | undefined>()
  const observer: ReplyObserver = Object.fromEntries(
    changeTypes.map((type) => [type, (observation: Observation) => hear(observation)]),
  )
  return { heard, observer }

  function hear(observation: Observation): void {
    heard.newest = observation.reply
    if (heard.settled > 0 && observation.type !== 'replyAmended')
      heard.problems.push(`${observation.type} after the end`)
    if (observation.type === 'replySettled') {
      heard.settled += 1
      compareTexts(observation.reply)
    }
    followPart(observation)
  }

  function followPart(change: Change): void {
    if (change.type === 'partAdded') texts.set(change.part.id, textIn(change.part))
    else if (change.type === 'partRemoved') texts.delete(change.part.id)
    else if (change.type === 'partChanged' || change.type === 'partFinalized') {
      const { part } = change
      if (!texts.has(part.id)) heard.problems.push(`${change.type} of a part that was never added`)
      const delta = change.type === 'partChanged' ? change.delta : undefined
      const before = texts.get(part.id)
      texts.set(part.id, delta === undefined || before === undefined ? textIn(part) : before + delta)
    }
  }

  function compareTexts(reply: Reply): void {
    for (const part of reply.messages.flatMap((message) => message.parts)) {
      if (part.status === 'abandoned' || textIn(part) === texts.get(part.id)) continue
      heard.problems.push(`a part told as ${JSON.stringify(texts.get(part.id))} is ${JSON.stringify(textIn(part))}`)
    }
  }
}

function textIn(part: Part): string | undefined {
  return part.type === 'text' || part.type === 'reasoning' ? part.text : undefined
}

const changeTypes: readonly Change['type'][] = [
  'replyStarted',
  'phaseChanged',
  'messageUpdated',
  'messageRemoved',
  'partAdded',
  'partChanged',
  'partFinalized',
  'partRemoved',
  'toolProgressed',
  'stepFinished',
  'todosChanged',
  'usageChanged',
  'questionAsked',
  'questionReplied',
  'questionRejected',
  'permissionAsked',
  'permissionReplied',
  'askWithdrawn',
  'sessionRetried',
  'sessionErrored',
  'compactionChanged',
  'childStarted',
  'childChanged',
  'childSettled',
  'connectionChanged',
  'stalledChanged',
  'replySettled',
  'replyAmended',
]
