// Projects random states of replies to the AI SDK 7 and prints what is wrong, as JSON. Run with --conditions=@reply/source, on Node 24.
import { emptyReply, textOf } from '@reply/core'
import { createUIProjection } from '@reply/ui'
import { uiTextOf } from '@reply/ui/client'
import { readUIMessageStream } from 'ai'

const problems = []
for (const version of [6, 7])
  for (let seed = 0; seed < 200; seed += 1) {
    const states = statesOf(seed)
    const last = { ...states.at(-1), phase: 'settled', outcome: 'completed' }
    const text = paragraphsOf(textOf(last))
    const name = `${version}, seed ${seed}`
    const page = await messageOf(chunksOf([...states, last], { version }), name)
    if (paragraphsOf(uiTextOf(page)) !== text) problems.push(`${name}: another text`)
    const partly = await messageOf(chunksOf(states.slice(0, 3), { version }), name)
    const have = JSON.parse(JSON.stringify(partly))
    const rest = await messageOf(chunksOf([...states.slice(3), last], { version, have }), `${name}, rest`, partly)
    if (paragraphsOf(uiTextOf(rest)) !== text) problems.push(`${name}, rest: another text`)
  }

console.log(JSON.stringify({ problems }))

/** States that have little to do with each other, the same for the same seed. */
function statesOf(seed) {
  let state = seed * 7919 + 1
  const random = () => {
    state = (state * 1103515245 + 12345) % 2147483648
    return state / 2147483648
  }
  const pick = (values) => values[Math.floor(random() * values.length)]
  const partsOf = (messageID) =>
    ['a', 'b', 'c'].flatMap((name) => {
      const head = { id: `${messageID}-${name}`, messageID, status: pick(['open', 'sealed', 'abandoned']) }
      if (random() < 0.2) return []
      if (name === 'b')
        return [{ ...head, type: 'tool', tool: 'bash', callID: head.id, state: { status: 'running', input: {} } }]
      const said = `${messageID}${name}`
      return [{ ...head, type: 'text', text: pick(['', said, `${said} and more`, `Other ${said}`]) }]
    })
  const messages = () =>
    ['msg_2', 'msg_3', 'msg_4'].filter(() => random() > 0.2).map((id) => ({ id, parts: partsOf(id) }))
  const next = () => ({ ...emptyReply('ses_1'), promptIDs: ['msg_1'], phase: 'working', messages: messages() })
  return Array.from({ length: 6 }, next)
}

function chunksOf(states, options) {
  const projection = createUIProjection({ ...options, stopAtAsks: false })
  return states.flatMap((reply) => projection.next(reply))
}

async function messageOf(chunks, name, have) {
  let message = have ?? { id: '', role: 'assistant', parts: [] }
  const stream = ReadableStream.from(chunks.map((chunk) => structuredClone(chunk)))
  const onError = (error) => problems.push(`${name}: ${error}`)
  for await (const newest of readUIMessageStream({ stream, onError, message: structuredClone(message) }))
    message = newest
  return message
}

/** A text that changes after its step has ended is sent at the end, so the order doesn't count. */
function paragraphsOf(text) {
  return text.split('\n\n').toSorted().join('\n\n')
}
