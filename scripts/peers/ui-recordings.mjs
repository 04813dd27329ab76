// Reads every recorded reply through the AI SDK 7 and prints what is wrong, as JSON. Run with --conditions=@reply/source, on Node 24.
import { observerOf, replay, textOf } from '@reply/core'
import { listRecordings, readRecording } from '@reply/testing'
import { createUIProjection, readAnswers } from '@reply/ui'
import { uiTextOf } from '@reply/ui/client'
import { readUIMessageStream, uiMessageChunkSchema } from 'ai'

const schema = uiMessageChunkSchema()
const counts = { replies: 0, chunks: 0, resets: 0, answers: 0 }
const problems = []

for (const { version, scenario, hasGlobal } of [...listRecordings(), ...listRecordings({ generation: 2 })])
  for (const global of hasGlobal ? [false, true] : [false])
    for (const states of await statesOf({ version, scenario, global })) {
      counts.replies += 1
      const live = states.slice(0, states.findIndex(({ phase }) => phase === 'settled') + 1)
      const text = textOf(live.at(-1))
      const name = `${version}/${scenario}`
      for (const [how, seen] of [
        ['live', live],
        ['late', live.slice(-1)],
        ['middle', live.slice(Math.floor(live.length / 2))],
      ]) {
        const chunks = chunksOf(seen, 7)
        counts.chunks += chunks.length
        counts.resets += chunks.filter(({ type }) => type === 'reset-step').length
        const message = await messageOf(chunks, `${name} ${how}`)
        if (uiTextOf(message) !== text) problems.push(`${name} ${how}: another text`)
        if (plainTextOf(message) !== text) problems.push(`${name} ${how}: another text without uiTextOf`)
        if (message.parts.some(({ type }) => type === 'data-retracted')) problems.push(`${name} ${how}: retracted`)
        const older = await messageOf(chunksOf(seen, 6), `${name} ${how}, written for 6`)
        if (uiTextOf(older) !== text) problems.push(`${name} ${how}: another text, written for 6`)
      }
      const answered = await answering(live, name)
      if (uiTextOf(answered) !== text) problems.push(`${name} answering: another text`)
      if (plainTextOf(answered) !== text) problems.push(`${name} answering: another text without uiTextOf`)
    }

console.log(JSON.stringify({ ...counts, problems }))

/** Every state of each reply of a recording. */
async function statesOf(recorded) {
  const all = []
  await replay(readRecording(recorded).bytes, {
    observe: (reply) => {
      const states = [reply]
      all.push(states)
      return [observerOf(({ reply: newest }) => states.at(-1) !== newest && states.push(newest))]
    },
  })
  return all
}

function chunksOf(states, version) {
  const projection = createUIProjection({ version, stopAtAsks: false })
  return states.flatMap((reply) => projection.next(reply))
}

/** The message of a page that answers where it stops, as was recorded, and goes on with what it has. */
async function answering(states, name) {
  const end = states.at(-1)
  let message
  for (let at = 0; at < states.length; ) {
    const projection = createUIProjection({ version: 7, have: message })
    const chunks = []
    for (; at < states.length && !projection.ended; at += 1) chunks.push(...projection.next(states[at]))
    counts.resets += chunks.filter(({ type }) => type === 'reset-step').length
    message = await messageOf(chunks, `${name} answering`, message)
    const stop = states[at - 1]
    const asks = message.parts.filter(({ type, data }) => type === 'data-ask' && data.choices.length > 0)
    const answers = asks.flatMap(({ id, data }) => {
      const { status, reply } = end.asks.find(({ requestID }) => requestID === id)
      return status === 'answered' || status === 'rejected' ? [{ id: data.id, answer: reply ?? 'reject' }] : []
    })
    counts.answers += stop.phase === 'settled' ? 0 : readAnswers({ messages: [message], answers }, stop).length
    const isGiven = ({ requestID, status }) =>
      status === 'pending' && answers.some(({ id }) => id.startsWith(`${requestID}.`))
    while (states[at]?.asks.some(isGiven)) at += 1
  }
  return message
}

/** The message that the AI SDK makes of valid chunks. `have` is what the page has. */
async function messageOf(chunks, name, have) {
  for (const chunk of chunks)
    if (!(await schema.validate(chunk)).success) problems.push(`${name}: invalid ${JSON.stringify(chunk)}`)
  let message = have ?? { id: '', role: 'assistant', parts: [] }
  const stream = ReadableStream.from(chunks.map((chunk) => structuredClone(chunk)))
  const onError = (error) => problems.push(`${name}: ${error}`)
  for await (const newest of readUIMessageStream({ stream, onError, message: structuredClone(message) }))
    message = newest
  return message
}

/** The text of a message in a page that knows the AI SDK alone. */
function plainTextOf({ parts }) {
  return parts.flatMap((part) => (part.type === 'text' && part.text.trim() !== '' ? [part.text] : [])).join('\n\n')
}
