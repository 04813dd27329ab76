// Records a client of `codex app-server --listen` that sees the runs of another client:
// `npx tsx packages/agents/scripts/record-codex-listener.ts [names]`, for example with the name `0.169.0/desk`.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import type { Client, PermissionAsk, Reply } from '@reply/core'
import { connectSource } from '@reply/core/source'
import { redact } from '@reply/testing/internal'
import { WebSocket, WebSocketServer } from 'ws'
import { codex } from '../src/codex.ts'
import { codexVersions } from '../test/codex/codex-stage.ts'
import { playAnsweredDesk, playDesk, playLateDesk, promptAndWait } from '../test/codex/desk-scene.ts'
import { type Listener, startListener, listenerToken as token } from '../test/codex/listener.ts'
import { connectToolDesk, playToolDesk } from '../test/codex/tool-desk.ts'

type Scene = (connect: () => Promise<Client>, listener: Listener) => Promise<readonly (Reply | undefined)[]>

/** Each scene, by the name of its recording. The chat, which it connects, is recorded, and the desk is not. */
const scenes: Readonly<Record<string, Scene>> = {
  desk: async (connect, { url, directory, model }) => {
    const chat = await connect()
    const desk = connectSource(codex({ url, token }))
    const replies = await playDesk(chat, directory, { desk, model })
    await desk.close()
    return replies
  },
  'answered-desk': async (connect, { url, directory }) => {
    const chat = await connect()
    const desk = connectSource(codex({ url, token }))
    let asked: PermissionAsk | undefined
    const begin = async (): Promise<void> => {
      asked = await promptAndWait(desk)
    }
    const replies = await playAnsweredDesk(
      chat,
      directory,
      begin,
      async () => asked && (await desk.answer(asked, 'once')),
    )
    await desk.close()
    return replies
  },
  'late-desk': async (connect, { url, directory }) => {
    const desk = connectSource(codex({ url, token }))
    await promptAndWait(desk)
    const replies = await playLateDesk(await connect(), directory)
    await desk.close()
    return replies
  },
  'tool-desk': async (connect, { url, directory }) => {
    const chat = await connect()
    const desk = await connectToolDesk(url, directory)
    const reply = await playToolDesk(chat, directory, desk)
    desk.close()
    return [reply]
  },
}

const wanted = process.argv.slice(2)
const all = codexVersions.flatMap((version) =>
  Object.entries(scenes).map(([name, play]) => ({ version, name, play, title: `${version}/${name}` })),
)

for (const { version, name, play, title } of all) {
  if (wanted.length > 0 && !wanted.includes(title)) continue
  const listener = await startListener(version)
  const { directory, home, model } = listener
  const lines: string[] = []
  const proxy = new WebSocketServer({ port: 0, host: '127.0.0.1' })
  await once(proxy, 'listening')
  proxy.on('connection', async (client) => {
    const server = new WebSocket(listener.url, { headers: { authorization: `Bearer ${token}` } })
    const early: string[] = []
    /** Records a frame of the client, and sends it to Codex. */
    const pass = (text: string): void => {
      lines.push(`{"from":"us","line":${text}}`)
      server.send(text)
    }
    client.on('message', (data) =>
      server.readyState === WebSocket.OPEN ? pass(String(data)) : early.push(String(data)),
    )
    await once(server, 'open')
    for (const text of early) pass(text)
    server.on('message', (data) => {
      lines.push(`{"from":"codex","line":${data}}`)
      client.send(String(data))
    })
    server.on('close', () => client.close())
    client.on('close', () => server.close())
  })
  const address = proxy.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const chats: Client[] = []
  const connect = async (): Promise<Client> => {
    const chat = connectSource(codex({ url: `ws://127.0.0.1:${port}`, token }))
    chats.push(chat)
    await chat.ready
    return chat
  }
  const replies = await play(connect, listener)
  for (const chat of chats) await chat.close()
  proxy.close()
  await listener.close()
  const modelPort = Number(new URL(model.url).port)
  const text = redact(lines.join('\n'), { directory, home, root: home, serverPort: 4096, modelPort })
  const listed = text
    .split('\n')
    .filter((line) => line.includes('"thread/list"'))
    .map((line) => JSON.parse(line).line.id)
  const kept = text.split('\n').filter((line) => {
    const { line: message } = JSON.parse(line)
    const isList = message.method === 'thread/list' || (message.result?.data && listed.includes(message.id))
    return !isList && !/"method":"(?:configWarning|remoteControl\/status\/changed)"|"codexHome"/.test(line)
  })
  // Codex answers the client's first requests with facts about this computer.
  const begun = kept.filter((line) => !line.includes('"initialize'))
  writeFileSync(new URL(`../recordings/codex/${version}/${name}.jsonl`, import.meta.url), `${begun.join('\n')}\n`)
  process.stdout.write(`${title}: ${begun.length} lines, ${replies.map((reply) => reply?.outcome).join(', ')}\n`)
}
