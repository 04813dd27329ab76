import { isTodoTool, type Reply, replay, toolsOf } from '@reply/core'
import { endingOf, lossTexts, stopTexts, type ToolEnd, toolFacts } from '@reply/core/show'
import { createSink, memoryStore, texts } from '@reply/sink'
import { createFake, fakeRender } from '@reply/sink/testing'
import { createHandClock, listRecordings, readRecording } from '@reply/testing'
import { expect, test } from 'vitest'
import { picture } from './fixture/picture.ts'

test.each(listRecordings())('$version $scenario: terminal and chat show the same facts', async (name) => {
  for (const reply of await replay(readRecording(name).bytes)) {
    const terminal = picture(reply, { width: Number.POSITIVE_INFINITY, live: false }).join('\n')
    const chat = await chatOf(reply)
    for (const fact of factsOf(reply)) {
      expect(terminal).toContain(fact)
      expect(chat).toContain(fact)
    }
  }
})

/** What a person must be able to read, wherever the reply is shown. */
function factsOf(reply: Reply): readonly string[] {
  const isStarted = reply.children.map(({ callID }) => callID)
  const calls = toolsOf(reply)
    .filter(({ tool, callID }) => !isTodoTool(tool) && tool !== 'question' && !isStarted.includes(callID))
    .map((part) => toolFacts(part, reply))
    .filter(({ end }) => end?.type !== 'interrupted')
  return [
    ...calls.flatMap(({ name, subject = '', end }) => [name, startOf(subject), ...(end ? [endText(end)] : [])]),
    endingText(reply),
  ].filter((fact) => fact !== '')
}

function endText(end: ToolEnd): string {
  switch (end.type) {
    case 'interrupted':
      return ''
    case 'rejected':
      return end.reason === undefined ? 'rejected' : `rejected: ${startOf(end.reason)}`
    case 'forbidden':
      return 'denied by a rule'
    case 'failed':
      return startOf(end.reason) || 'failed'
    case 'exited':
      return `exit ${end.code}`
    default:
      return end satisfies never
  }
}

function endingText(reply: Reply): string {
  const ending = endingOf(reply)
  switch (ending?.type) {
    case undefined:
      return ''
    case 'completed':
      if (ending.noText) return texts.noText(ending.noText)
      return ending.isCutOff ? "cut off at the model's output limit" : ''
    case 'stopped':
      return stopTexts[ending.why]
    case 'aborted':
      return 'borted'
    case 'failed':
      return startOf(ending.reason ?? '')
    case 'timed-out':
      return 'imed out'
    case 'lost':
      return lossTexts[ending.why]
    default:
      return ending satisfies never
  }
}

/** Both may cut long texts. */
function startOf(text: string): string {
  return text.slice(0, 60).trim()
}

/** All that a chat without edits shows of a settled reply, without the escapes of its Markdown. */
async function chatOf(reply: Reply): Promise<string> {
  const clock = createHandClock(Date.UTC(2026, 0, 1))
  const fake = createFake({ clock, lacks: ['edit', 'upload'], limits: { maxLength: 4000, edits: false } })
  const sink = createSink({
    port: fake.port,
    render: fakeRender,
    chat: { id: 'chat' },
    store: memoryStore(),
    clock,
    policy: { verbosity: 'calls' },
  })
  sink.replyStarted?.({ type: 'replyStarted', reply })
  let isShown = false
  void sink.settled().then(() => {
    isShown = true
  })
  for (let waited = 0; waited < 100 && !isShown; waited++) await clock.advance(1000, rest)
  expect(isShown).toBe(true)
  return fake
    .screen()
    .map(({ text }) => text)
    .join('\n')
    .replace(/\\([^\w\s])/g, '$1')
}

async function rest(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await Promise.resolve()
}
