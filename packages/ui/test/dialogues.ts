import type { UIAsk, UIDataParts, UIMetadata } from '@reply/ui'
import { sendWhenAnswered, uiTextOf } from '@reply/ui/client'
import type * as Sdk from 'ai'
import type { ChatInit, UIMessage } from 'ai'
import { createChatState } from './chat-state.ts'

type Message = UIMessage<UIMetadata, UIDataParts>

/** What a dialogue needs of the AI SDK: 6 or 7. */
export type SdkParts = Pick<typeof Sdk, 'AbstractChat' | 'DefaultChatTransport'>

/** A page with `useChat`, without React. */
export type Page = ReturnType<ReturnType<typeof pagesOf>>

/** Opens pages before the handler at `api`. Each page has the chat's id, and the messages that it was given. */
function pagesOf({ AbstractChat, DefaultChatTransport }: SdkParts, api: string) {
  class Chat extends AbstractChat<Message> {
    constructor(init: ChatInit<Message>) {
      super({ ...init, state: createChatState(init.messages) })
    }
  }
  return (id: string, messages: readonly Message[] = []) => {
    const errors: string[] = []
    const chat = new Chat({
      id,
      messages: structuredClone([...messages]),
      transport: new DefaultChatTransport({ api }),
      sendAutomaticallyWhen: sendWhenAnswered,
      onError: ({ message }) => errors.push(message),
    })
    return {
      chat,
      errors,
      /** The text of each message. */
      texts: () => chat.messages.map((message) => uiTextOf(message)),
      /** The parts of all messages. */
      parts: () => chat.messages.flatMap(({ parts }) => parts),
      /** How the last message ended. */
      outcome: () => chat.lastMessage?.metadata?.outcome,
      /** Resolves once the agent waits for an answer, and the page takes it. */
      asked: () => until(() => chat.status === 'ready' && approvalIn(chat.messages) !== undefined),
      /** Resolves once the agent waits for an answer to a permission, or the reply has ended. */
      askedOrEnded: () =>
        until(
          () =>
            chat.status === 'ready' &&
            (approvalIn(chat.messages) !== undefined || chat.lastMessage?.metadata?.outcome !== undefined),
        ),
      /** Presses a button of the permission. */
      decide: async (approved: boolean, reason?: string) =>
        await chat.addToolApprovalResponse({
          id: approvalIn(chat.messages) ?? fail('Nothing is asked.'),
          approved,
          ...(reason !== undefined && { reason }),
        }),
      /** Resolves once the reply has ended. */
      ended: () => until(() => chat.status === 'ready' && chat.lastMessage?.metadata?.outcome !== undefined),
    }
  }
}

function approvalIn(messages: readonly Message[]): string | undefined {
  for (const part of messages.flatMap(({ parts }) => parts))
    if (part.type === 'dynamic-tool' && part.state === 'approval-requested') return part.approval.id
  return undefined
}

function fail(message: string): never {
  throw new Error(message)
}

async function until(isSo: () => boolean, withinMs = 60_000): Promise<void> {
  const end = performance.now() + withinMs
  while (!isSo()) {
    if (performance.now() > end) fail(`Timed out waiting for: ${isSo}`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** What a dialogue works with. */
interface Stage {
  /** The address of the handler. */
  readonly api: string
  readonly page: ReturnType<typeof pagesOf>
  /** Resolves when the model waits at a hold. */
  readonly held: (name: string) => Promise<void>
  readonly release: (name: string) => Promise<void>
  /** Ends the handler and its client, and opens new ones. */
  readonly restart: () => Promise<void>
  /** Whether the model got a text. */
  readonly saw: (text: string) => Promise<boolean>
}

/** What the page shows of the newest ask. */
function askIn(page: Page): Pick<UIAsk, 'id' | 'toolCallId'> {
  const part = page.parts().findLast((each) => each.type === 'data-ask')
  return part ? part.data : fail('Nothing is asked.')
}

/** The status of a tool part, or how it was decided. */
function toolStates(page: Page): readonly string[] {
  return page.parts().flatMap((part) => (part.type === 'dynamic-tool' ? [`${part.toolName}: ${part.state}`] : []))
}

const prompt = (script: string): { readonly text: string } => ({ text: `Please do it. [scenario:${script}]` })

/** Conversations of people with an agent. Each returns what the pages show at the end. */
const dialogues = {
  'a permission that is allowed once': async ({ page }) => {
    const one = page('once')
    await one.chat.sendMessage(prompt('permission-once'))
    await one.asked()
    await one.decide(true)
    await one.ended()
    return [one.texts().slice(1), toolStates(one), one.outcome(), one.errors]
  },

  'a permission that is rejected with a reason': async ({ page, saw }) => {
    const one = page('reason')
    await one.chat.sendMessage(prompt('permission-rejected-message'))
    await one.asked()
    await one.decide(false, 'Not on a Sunday.')
    await one.ended()
    return [one.texts().slice(1), one.outcome(), await saw('Not on a Sunday.'), one.errors]
  },

  'a question with options': async ({ page, saw }) => {
    const one = page('question')
    await one.chat.sendMessage(prompt('question'))
    const { id, toolCallId } = askIn(one)
    const output = [['Blue']]
    if (toolCallId !== undefined)
      await one.chat.addToolOutput({ tool: 'question' as never, toolCallId, output: output as never })
    // OpenCode 1.1 sends the call after its question was answered.
    else await one.chat.sendMessage(undefined, { body: { answers: [{ id, answer: output }] } })
    await one.ended()
    return [one.texts().slice(1), one.outcome(), await saw('Blue'), one.errors]
  },

  "a sub-agent's permission": async ({ page }) => {
    const one = page('sub-agent')
    await one.chat.sendMessage(prompt('subagent-permission'))
    const { id } = askIn(one)
    await one.chat.sendMessage(undefined, { body: { answers: [{ id, answer: 'once' }] } })
    await one.ended()
    return [one.texts().slice(1), one.outcome(), one.errors]
  },

  'a second page that answers': async ({ page }) => {
    const one = page('second')
    await one.chat.sendMessage(prompt('permission-once'))
    await one.asked()
    const two = page('second', one.chat.messages)
    await two.decide(true)
    await two.ended()
    return [two.texts().slice(1), two.chat.messages.length, two.outcome(), two.errors]
  },

  'a page that was loaded again and answers': async ({ page }) => {
    const one = page('reloaded')
    await one.chat.sendMessage(prompt('permission-once'))
    await one.asked()
    const two = page('reloaded', one.chat.messages.slice(0, 1))
    await two.chat.resumeStream()
    await two.asked()
    await two.decide(true)
    await two.ended()
    // The first page presses too, too late.
    await one.decide(true)
    await until(() => one.errors.length > 0)
    return [two.texts().slice(1), two.outcome(), two.errors, one.errors]
  },

  'a page that is cut off and resumes, without a text twice': async ({ page, held, release }) => {
    const one = page('cut')
    const sent = one.chat.sendMessage(prompt('ui-held'))
    await held('ui-cut')
    await until(() => one.texts().at(-1) === 'It begins')
    await one.chat.stop()
    await sent
    const resumed = one.chat.resumeStream()
    await until(() => one.chat.status === 'streaming' && one.texts().at(-1) === 'It begins')
    await release('ui-cut')
    await resumed
    return [one.texts().slice(1), one.outcome(), one.errors]
  },

  'a page whose server restarts in mid-stream': async ({ page, held, release, restart }) => {
    const one = page('restarted')
    const sent = one.chat.sendMessage(prompt('ui-restart'))
    await held('ui-restart')
    await until(() => one.texts().at(-1) === 'It begins')
    await restart()
    await sent
    const resumed = one.chat.resumeStream()
    // Most servers store a text when it ends, so the new process may not know its beginning yet.
    await until(() => one.chat.status !== 'ready')
    await release('ui-restart')
    await resumed
    return [one.texts().slice(1), one.outcome(), one.errors]
  },

  'a page whose server restarts before its answer': async ({ page, restart }) => {
    const one = page('restarted-asked')
    await one.chat.sendMessage(prompt('permission-once'))
    await one.asked()
    await restart()
    await one.decide(true)
    await one.ended()
    return [one.texts().slice(1), one.outcome(), one.errors]
  },

  'two pages, one of which sends while the other one reads': async ({ page, held, release }) => {
    const [one, two] = [page('two'), page('two')]
    const sent = one.chat.sendMessage(prompt('ui-two'))
    await held('ui-two')
    const resumed = two.chat.resumeStream()
    await until(() => two.texts().at(-1) === 'Both')
    const three = page('two')
    await three.chat.sendMessage({ text: 'And now?' })
    await release('ui-two')
    await Promise.all([sent, resumed])
    return [one.texts().slice(1), two.texts(), one.chat.lastMessage?.id === two.chat.lastMessage?.id, three.errors]
  },

  'a page that resumes when nothing runs': async ({ page }) => {
    const one = page('nothing')
    await one.chat.sendMessage(prompt('failing-read'))
    await one.ended()
    await one.chat.resumeStream()
    const two = page('nothing', one.chat.messages)
    await two.chat.resumeStream()
    return [one.texts().slice(1), two.texts().slice(1), one.chat.status, two.chat.status, one.errors, two.errors]
  },

  'a run that is stopped': async ({ page, api, held }) => {
    const one = page('stopped')
    const sent = one.chat.sendMessage(prompt('ui-stopped'))
    await held('ui-stopped')
    await until(() => one.texts().at(-1) === 'It goes on')
    const { status } = await fetch(`${api}/stopped`, { method: 'DELETE' })
    await sent
    await one.chat.sendMessage(prompt('failing-read'))
    await one.ended()
    return [status, one.texts().at(1), one.texts().at(-1), one.errors]
  },

  'a message with a file': async ({ page, saw }) => {
    const one = page('file')
    const url = `data:text/plain;base64,${btoa('What the file says.')}`
    const files = [{ type: 'file' as const, mediaType: 'text/plain', filename: 'note.txt', url }]
    await one.chat.sendMessage({ ...prompt('failing-read'), files })
    await one.ended()
    const local = page('file')
    await local.chat.sendMessage({ text: 'Read it.', files: [{ ...files[0], url: 'file:///etc/passwd' } as never] })
    return [one.outcome(), await saw('What the file says.'), one.errors, local.errors]
  },

  // The last one, because the server asks for no such command from then on.
  'a permission that is allowed for always': async ({ page }) => {
    const one = page('always')
    await one.chat.sendMessage(prompt('permission-always'))
    let decisions = 0
    for (await one.askedOrEnded(); one.outcome() === undefined; await one.askedOrEnded()) {
      await one.decide(true, 'always')
      decisions += 1
    }
    return [one.texts().slice(1), toolStates(one), decisions, one.outcome(), one.errors]
  },
} satisfies Record<string, (stage: Stage) => Promise<unknown>>

/** Plays all dialogues, one after the other, and returns what the pages show. `control` is the address of the stage. */
export async function playDialogues(sdk: SdkParts, api: string, control: string): Promise<Record<string, unknown>> {
  const ask = async (action: string, name: string): Promise<string> => {
    const response = await fetch(`${control}/${action}?${new URLSearchParams({ name })}`)
    return await response.text()
  }
  const stage: Stage = {
    api,
    page: pagesOf(sdk, api),
    held: async (name) => void (await ask('held', name)),
    release: async (name) => void (await ask('release', name)),
    restart: async () => void (await ask('restart', '')),
    saw: async (name) => (await ask('saw', name)) === 'true',
  }
  const shown: Record<string, unknown> = {}
  for (const [name, play] of Object.entries(dialogues)) {
    try {
      shown[name] = await play(stage)
    } catch (error) {
      shown[name] = String(error)
    }
  }
  return shown
}
