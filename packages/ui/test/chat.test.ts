import { AbstractChat, type ChatInit, DefaultChatTransport, type UIMessage } from 'ai'
import { describe, expect, test } from 'vitest'
import { sendWhenAnswered, uiTextOf } from '../src/client.ts'
import type { UIDataParts, UIMetadata } from '../src/index.ts'
import { createChatState } from './chat-state.ts'
import { createStage } from './handler-stage.ts'
import { toolsIn } from './make.ts'

type Message = UIMessage<UIMetadata, UIDataParts>

/** What `useChat` is made of, without React. */
class Chat extends AbstractChat<Message> {
  constructor(init: ChatInit<Message>) {
    super({ ...init, state: createChatState() })
  }
}

/** A page before a handler in this process. `cut` ends the connection that is open. */
function openPage(handle: (request: Request) => Promise<Response>) {
  let cut = (): void => {}
  const transport = new DefaultChatTransport<Message>({
    fetch: async (url, init) => {
      const { body } = await handle(new Request(new URL(String(url), 'https://app.example'), init)).then(checked)
      return new Response(body?.pipeThrough(cuttable()), { status: body ? 200 : 204 })
    },
  })
  const cuttable = (): TransformStream<Uint8Array, Uint8Array> =>
    new TransformStream({
      start: (controller) => {
        cut = () => controller.error(new TypeError('network error'))
      },
    })
  const chat = new Chat({ id: 'mine', transport, sendAutomaticallyWhen: sendWhenAnswered })
  const until = async (fits: () => boolean): Promise<void> => await expect.poll(fits, { interval: 1 }).toBe(true)
  return {
    chat,
    cut: () => cut(),
    text: () => (chat.lastMessage ? uiTextOf(chat.lastMessage) : ''),
    until,
    /** Resolves with the ask that the page shows, once it can be answered. */
    asked: async () => {
      const pending = () =>
        chat.lastMessage?.parts.flatMap((part) =>
          part.type === 'data-ask' && part.data.status === 'pending' ? [part.data] : [],
        )[0]
      await until(() => chat.status === 'ready' && pending() !== undefined)
      return pending() ?? expect.fail('Nothing is asked.')
    },
    ended: () => until(() => chat.status === 'ready' && chat.lastMessage?.metadata?.outcome !== undefined),
  }
}

async function checked(response: Response): Promise<Response> {
  if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
  return response
}

describe('a page with the chat class of the AI SDK', () => {
  test('answers any ask in a body by the id of its data', async () => {
    const { handle, answers } = createStage()
    const { chat, asked, ended } = openPage(handle)
    for (const [prompt, answer] of [
      ['run ls', 'once'],
      ['run pwd', 'reject'],
      ['question', [['Blue']]],
      ['delegate', 'once'],
    ] as const) {
      void chat.sendMessage({ text: prompt })
      const ask = await asked()
      await chat.sendMessage(undefined, { body: { answers: [{ id: ask.id, answer }] } })
      await ended()
      const [tool] = chat.lastMessage ? toolsIn(chat.lastMessage) : []
      expect(tool?.state).toBe(answer === 'reject' ? 'output-denied' : 'output-available')
    }
    expect(answers).toEqual(['ls: once', 'pwd: rejected', '[["Blue"]]', 'ls: once'])
    expect(chat.messages).toHaveLength(8)
  })

  test('that was cut off goes on without doubled text', async () => {
    const { handle, run } = createStage()
    const { chat, cut, text, until, ended } = openPage(handle)
    void chat.sendMessage({ text: 'endless' })
    await until(() => text() === 'On and on.')
    cut()
    await until(() => chat.status === 'error')
    run().write({ type: 'text', delta: ' And on.', partID: 'endless' })
    const resumed = chat.resumeStream()
    await until(() => text() === 'On and on. And on.')
    run().end({ type: 'completed' })
    await resumed
    await ended()
    expect(text()).toBe('On and on. And on.')
    expect(chat.messages).toHaveLength(2)
  })
})
