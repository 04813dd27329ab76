import { escapeDeceptive, type PermissionAsk, systemClock } from '@reply/core'
import type { AskResult } from '../../asks/answering.ts'
import type { AskText } from '../../asks/asks.ts'
import type { MessageRef } from '../../port/port.ts'
import type { Sink } from '../../sink.ts'
import { texts } from '../../texts.ts'
import { amendReply, patienceMs, startReply, withSink } from './acting.ts'
import { askOf, numberedSentences, type Permitting, permissionOf, replyOf } from './script.ts'
import { type Demand, must, type Stage, textsOn, until } from './stage.ts'

/** The only actors who may answer. */
const answerers = ['ada']

const esc = String.fromCharCode(27)
/** Returns that many lines, each followed by its number, from 0. */
const lines = (count: number, line: string): string =>
  Array.from({ length: count }, (_, at) => `${line} ${at}`).join('\n')

/** Commands with characters that hide text from readers or break renderers. */
const commands: readonly string[] = [
  "[[ -v 'a[$(touch X)]' ]]; ls",
  'A=1 B="two  spaces" make \\\n\tinstall # comment',
  'cat <<"EOF"\n```\n**not bold** [a](b) <b>&amp;</b>\n````\n~~~\nEOF',
  `echo a\u202eb\u200bc\u2066 ${esc}[2K \u{e0041} \ue000\ufdd0`,
  `ls${'\n'.repeat(121)}${' '.repeat(1500)}rm \u2800\u3164\u3000 p\u0430ypal a${'\u0336'.repeat(9)}`,
  '`whoami` && echo "*_~|>#-" > /etc/@everyone <!channel> <@U012AB> https://a.example/*_x',
  '> quoted\n1. numbered\n- item\n| a | b |\n|---|---|\n||hidden|| <!-- hidden -->',
]

const writes: readonly Permitting[] = [
  { tool: 'write', input: { filePath: 'a/\u202eb.ts', content: 'const a = `\n```\n`\n' } },
  { tool: 'edit', input: { filePath: 'a.ts', oldString: 'one\ntwo', newString: 'one\n```three' } },
  { tool: 'write', input: { filePath: '\u0440ath.ts', content: `a\n\n\n\nb${'\n'.repeat(121)}c` } },
  { tool: 'webfetch', input: { url: 'https://a.example/?q=_*`x`*_&lt;=~~1~~', format: 'text' } },
  { tool: 'other', input: { deep: { list: ['first *one*', { second: 'line 1\nline 2' }] }, flag: true, count: 12 } },
]

/** Everything that people see before something runs. */
export const asking = [
  {
    name: 'shows all that a permission would run, verbatim, before it can be allowed',
    run: async (stage) => {
      const asked = [...commands.map((command) => ({ tool: 'bash', input: { command } })), ...writes]
      for (const [at, given] of asked.entries()) await mustBeReadable(stage, { ...given, sessionID: `ses_${at}` })
    },
  },
  {
    name: 'shows a long permission in several messages, and a longer one in a file',
    run: async (stage) => {
      const { maxLength } = stage.port.limits
      const three = lines(Math.ceil((2.5 * maxLength) / 20), 'echo 0123456789')
      await mustBeReadable(stage, { tool: 'bash', input: { command: three }, sessionID: 'ses_three' })
      const oneLine = 'x'.repeat(2 * maxLength)
      await mustBeReadable(stage, { tool: 'bash', input: { command: oneLine }, sessionID: 'ses_line' })
      const ten = lines(Math.ceil((10 * maxLength) / 20), 'echo 0123456789')
      const hasRoom = stage.port.upload !== undefined
      await mustBeReadable(stage, { tool: 'bash', input: { command: ten }, sessionID: 'ses_ten' }, hasRoom)
    },
  },
  {
    name: 'offers only to reject a permission that was not fully shown',
    needs: ({ faults }) => faults.includes('refused'),
    run: async (stage) => {
      const command = lines(Math.ceil((1.5 * stage.port.limits.maxLength) / 20), 'echo 0123456789')
      await withSink(
        stage,
        async (sink) => {
          stage.failNext('refused')
          startReply(sink, replyOf('', { ask: permissionOf({ tool: 'bash', input: { command } }) }))
          const { clock = systemClock } = stage
          const end = clock.now() + patienceMs / 4
          // If every message is refused, there is nothing to wait for.
          const isDone = (): boolean => isAsked(stage) || clock.now() >= end
          await until(stage, { isDone, withinMs: patienceMs, message: 'The stage clock does not advance.' })
          must(!isAllowOffered(stage), 'The permission can be allowed although part of it is missing.')
        },
        { answerers },
      )
    },
  },
  {
    name: 'asks in time while a long answer waits to be shown',
    run: async (stage) => {
      const { clock = systemClock, chat } = stage
      const { perChat, maxLength } = stage.port.limits
      const withinMs = Math.max(chat.kind === 'private' ? 4000 : 7000, perChat.perMs / perChat.calls + 1000)
      const long = numberedSentences(12 * Math.min(maxLength, 4096))
      await withSink(
        stage,
        async (sink) => {
          startReply(sink, replyOf(long.slice(0, 20)))
          await stage.pass?.(1000)
          amendReply(sink, replyOf(long))
          await stage.pass?.(1000)
          const askedAt = clock.now()
          const ask = permissionOf({ tool: 'bash', input: { command: 'npm test' } })
          amendReply(sink, replyOf(long, { ask }))
          await until(stage, {
            isDone: () => isAsked(stage),
            withinMs: patienceMs,
            message: 'The request was not shown.',
          })
          const tookMs = clock.now() - askedAt
          must(tookMs <= withinMs + 250, `The request came after ${tookMs} ms; the limit is ${withinMs} ms.`)
        },
        { answerers },
      )
    },
  },
] as const satisfies readonly Demand[]

/** Throws unless all of the permission is readable before it can be allowed. It must be possible to allow it if it fits. */
async function mustBeReadable(
  stage: Stage,
  given: Permitting & { readonly sessionID: string },
  hasRoom = true,
): Promise<void> {
  const from = stage.screen().length
  const ask = permissionOf(given)
  await withSink(
    stage,
    async (sink) => {
      startReply(sink, replyOf('', { ask, sessionID: given.sessionID }))
      await until(stage, {
        isDone: () => isAsked(stage, from),
        withinMs: patienceMs,
        message: 'The request was not shown.',
      })
      if (!hasRoom) return must(!isAllowOffered(stage, from), 'The permission can be allowed although it does not fit.')
      must(isAllowOffered(stage, from), `The permission cannot be allowed: ${textsOn(stage).slice(from).join(' | ')}`)
      const seen = compact(
        stage
          .screen()
          .slice(from)
          .flatMap(({ text, fileText = '' }) => [text, fileText])
          .join('\n'),
      )
      // A stage may show Markdown as it was written, with escapes in the title.
      const plain = seen.replace(/\\(?=[^\w\s])/g, '')
      let at = 0
      for (const line of linesOf(ask)) {
        const due = compact(line)
        const below = seen.indexOf(due, at)
        // A search from the beginning takes long for thousands of lines.
        at = below === -1 ? seen.indexOf(due) : below
        if (at === -1) must(plain.includes(due), `The chat does not show "${line}", only ${seen}.`)
      }
      const last = stage
        .screen()
        .slice(from)
        .find(({ buttons }) => buttons.flat().length > 0)
      const [button] = last?.buttons.flat() ?? []
      if (!last || !button) return
      const taken = await sink.readAnswer(
        { token: button.data, messageRef: { id: last.id } },
        { id: 'ada', name: 'Ada' },
      )
      must(taken?.type === 'answer', 'The first button does not allow the permission.')
    },
    { answerers },
  )
}

/** Whether a message from index `from` on invites an answer by button or text. */
function isAsked(stage: Stage, from = 0): boolean {
  const shown = stage.screen().slice(from)
  return shown.some(
    ({ text, buttons }) => buttons.flat().length > 0 || includesText(text, texts.replyReject) || invitesReply(text),
  )
}

/** Whether a message from index `from` on offers to allow the permission. */
function isAllowOffered(stage: Stage, from = 0): boolean {
  return stage
    .screen()
    .slice(from)
    .some(({ text, buttons }) => buttons.flat().some(({ label }) => label === texts.allowOnce) || invitesReply(text))
}

/** Whether the text says how to allow the permission by text. */
function invitesReply(text: string): boolean {
  return includesText(text, texts.replyPermission(true))
}

/** Whether the text includes the expected one, compared without white space and marks: see `compact`. */
function includesText(text: string, expected: string): boolean {
  return compact(text).includes(compact(expected))
}

/** Returns every line of every string of the input, as it should be readable. */
function linesOf({ call }: PermissionAsk): readonly string[] {
  return leavesOf(call?.input).flatMap((leaf) => escapeDeceptive(leaf).split('\n'))
}

/** Returns all strings, numbers and other leaves of a value as text. */
function leavesOf(value: unknown): readonly string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(leavesOf) : [String(value)]
}

/**
 * Removes white space, which platforms treat differently, the invisible characters that escape marks, and the label of a
 * line that continues in the next message.
 */
function compact(text: string): string {
  return text
    .replace(/[\ue000-\uf8ff\ufdd0-\ufdef]/g, (letter) => `\\u${letter.charCodeAt(0).toString(16)}`)
    .replace(/[\s\u2060\u200b]+/g, '')
    .replaceAll(/[`*]*\\*\((?:sameline,continued|continued)[`*\\]*\)[*]*(?:`{3,}(?:bash|diff)?)?/g, '')
}

/** Which typed text answers an ask. */
export const typed = [
  {
    name: 'asks, and accepts a number as the answer',
    run: async (stage) => {
      await whileAsked(stage, async (write) => {
        const taken = await write({ afterMs: 0 })
        must(taken?.type === 'answer' && String(taken.answer) === 'Red', 'The number 1 is not the first option.')
      })
    },
  },
  {
    name: 'ignores text that was written before it asked',
    run: async (stage) => {
      await whileAsked(stage, async (write) => {
        must(
          (await write({ afterMs: -1_000_000 })) === undefined,
          'Text from before the request was taken as an answer.',
        )
      })
    },
  },
  {
    name: 'ignores text that replies to another message',
    run: async (stage) => {
      await whileAsked(stage, async (write) => {
        const taken = await write({ afterMs: 0, replyTo: { id: 'another' } })
        must(taken === undefined, 'A reply to another message was taken as an answer.')
      })
    },
  },
] as const satisfies readonly Demand[]

interface Writing {
  /** How long after now it was written, by the platform's clock, in ms. */
  readonly afterMs: number
  readonly replyTo?: MessageRef
}

type Write = (writing: Writing) => Promise<AskResult | undefined>

/** Shows a question. Once text can answer it, calls `act` with a function that reads "1" from a person who may answer. */
async function whileAsked(stage: Stage, act: (write: Write) => Promise<void>): Promise<void> {
  const { chat, clock = systemClock } = stage
  const ada = { id: 'ada', name: 'Ada' }
  const textOf = ({ afterMs, replyTo }: Writing): AskText => {
    const messageRef = { id: 'written', postedAt: clock.now() + afterMs }
    return { text: '1', chat, messageRef, replyTo }
  }
  const askAndAct = async (sink: Sink): Promise<void> => {
    startReply(sink, replyOf('', { ask: askOf({}) }))
    let isAsked = false
    const isDone = (): boolean => {
      void sink.findAsks(textOf({ afterMs: 0 }), ada).then((found) => {
        isAsked = found.length > 0
      })
      return isAsked
    }
    await until(stage, { isDone, withinMs: patienceMs, message: 'Text does not answer the question.' })
    await act(async (writing) => await sink.readAnswer(textOf(writing), ada))
  }
  await withSink(stage, askAndAct, { answerers: [ada.id] })
}
