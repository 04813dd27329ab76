/**
 * Frames as 2.0 sends them, written by hand: what its published source does and the preview build can't. Each names its
 * type and its data besides the session.
 */
export type StableFrame = readonly [type: string, data?: object]

export const sessionID = 'ses_1'
export const promptID = 'msg_prompt'
export const tokens = { input: 1, output: 1, reasoning: 0, cache: { read: 0, write: 0 } }

/** A session whose prompt has been delivered. */
export const prompted: readonly StableFrame[] = [
  ['session.created', { projectID: 'p', location: { directory: '/project' }, version: '2.0.26' }],
  ['session.inbox.enqueued', { inboxID: promptID, item: promptOf('Tell.') }],
  ['session.execution.started'],
  ['session.inbox.delivered', { inboxID: promptID }],
]

export function promptOf(text: string) {
  return { type: 'user', payload: { text }, delivery: 'steer' }
}

export function stepBegins(assistantMessageID: string): StableFrame {
  return ['session.step.started', { assistantMessageID, agent: 'build', model: { id: 'm1', providerID: 'fake' } }]
}

export function says(assistantMessageID: string, text: string): readonly StableFrame[] {
  const part = { assistantMessageID, ordinal: 0 }
  return [
    ['session.text.started', part],
    ['session.text.delta', { ...part, delta: text }],
    ['session.text.ended', { ...part, text }],
  ]
}

export function stepEnds(assistantMessageID: string, finish = 'stop'): StableFrame {
  return ['session.step.ended', { assistantMessageID, finish, cost: 0.1, tokens }]
}

/** The event stream with these frames, each stored one counted. */
export function streamOf(frames: readonly StableFrame[]): string {
  let seq = -1
  return frames
    .map(([type, data], at) => {
      const isStored = !type.endsWith('.delta')
      if (isStored) seq += 1
      const durable = isStored ? { durable: { aggregateID: sessionID, seq, version: 1 } } : {}
      return { id: `evt_${at}`, created: 1000 + at, type, ...durable, data: { sessionID, ...data } }
    })
    .map((frame) => `data: ${JSON.stringify(frame)}\n\n`)
    .join('')
}
