// Runs a real OpenCode server with a scripted model, the real grammY and a fake Telegram, and prints what a person in
// the chat sees each time that it changes. Needs no token and no network.
//   npm run demo:telegram -- [scenario] [native]
import { connect } from '@reply/core'
import type { Sink } from '@reply/sink'
import { answerWith, type Running } from '@reply/sink'
import { demoScenarios, startDemo } from '@reply/testing'
import { startTelegram, type TelegramMessage } from '@reply/testing/telegram'
import { Api } from 'grammy'
import { telegramChannel } from '../src/index.ts'

const chatId = 7
const token = '42:demo'
const words = process.argv.slice(2)
const scenario = words.find((word) => word !== 'native') ?? 'demo'
const out = process.stdout

if (demoScenarios.every(({ name }) => name !== scenario)) {
  const names = demoScenarios.map(({ name, shows }) => `  ${name}: ${shows}\n`).join('')
  out.write(`Unknown scenario "${scenario}". There are:\n${names}`)
  process.exit(2)
}

out.write('Starting a real OpenCode server with a scripted model, and a fake Telegram …\n')
const demo = await startDemo({ scenario })
const telegram = await startTelegram({ token })
const opencode = connect({ url: demo.url, directory: demo.directory })
const running: (Running & { readonly sink: Sink })[] = []
const answer = answerWith({ client: opencode, running: () => running })
const channel = telegramChannel({
  api: new Api(token, { apiRoot: telegram.url }),
  updates: 'polling',
  policy: { delivery: words.includes('native') ? 'native' : 'edit' },
  onError: ({ message }) => out.write(`! ${message}\n`),
  onInbound: async (inbound) => {
    if ((await answer(inbound)) || inbound.type !== 'text') return
    const sink = channel.sinkFor(inbound)
    const stream = opencode.prompt({ text: inbound.text }, { observe: () => [sink] })
    running.push({ sink, stream })
    await stream.result
    await finish(sink)
  },
})

const beganAt = Date.now()
const pressed = new Set<number>()
let shown = ''
telegram.observe(() => {
  draw()
  pressOne()
})
process.once('SIGINT', () => void Promise.all(running.map(({ stream }) => stream.abort())))
channel.start()
telegram.say(chatId, demo.prompt)

function draw(): void {
  const picture = telegram.screen(chatId).map(lineOf).join('\n\n')
  if (picture === shown) return
  shown = picture
  const head = `── ${((Date.now() - beganAt) / 1000).toFixed(1)} s ${'─'.repeat(60)}`
  out.write(`${out.isTTY ? '\x1b[2J\x1b[3J\x1b[H' : ''}${head}\n${picture}\n\n`)
}

function lineOf({ from, text, buttons, document, isDraft, isSilent, editedTimes }: TelegramMessage): string {
  const who = from === 'user' ? 'you' : isDraft ? 'bot (draft)' : 'bot'
  const marks = [from === 'bot' && !isSilent && !isDraft && '🔔', editedTimes > 0 && `edited ${editedTimes}×`]
  const rows = buttons.map((row) => row.map((button) => `[ ${button.text} ]`).join(' '))
  const file = document ? [`📎 ${document.name} (${document.bytes.length} bytes)`] : []
  const head = [who, ...marks.filter(Boolean)].join(' · ')
  return [head, ...[text, ...file, ...rows].join('\n').split('\n')].join('\n  ')
}

/** Presses the first button after 2.5 s. */
function pressOne(): void {
  const ask = telegram.screen(chatId).find(({ messageId, buttons }) => buttons.length > 0 && !pressed.has(messageId))
  const label = ask?.buttons[0]?.[0]?.text
  if (!ask || label === undefined) return
  pressed.add(ask.messageId)
  setTimeout(() => void telegram.press(chatId, ask.messageId, label), 2500)
}

async function finish(sink: Sink): Promise<void> {
  const { shown: messages, undelivered, doubtful, rateLimited } = await sink.settled()
  const calls = telegram.calls.filter((call) => call.chatId === chatId).length
  out.write(
    `${messages} messages shown, ${undelivered.length} undelivered, ${doubtful} doubtful; ${calls} calls, ` +
      `${rateLimited} rate-limited; ${telegram.notifications(chatId)} notifications.\n`,
  )
  // Runs inside `onInbound`, which `channel.stop` waits for: closing here would wait for itself.
  setImmediate(close)
}

async function close(): Promise<void> {
  await channel.stop()
  await telegram.close()
  await opencode.close()
  await demo.stop()
}
