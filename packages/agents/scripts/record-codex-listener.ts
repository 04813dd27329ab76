// Records a client of `codex app-server --listen` that sees the runs of another client:
// `npx tsx packages/agents/scripts/record-codex-listener.ts`.
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { connectSource } from '@reply/core/source'
import { redact } from '@reply/testing/internal'
import { WebSocket, WebSocketServer } from 'ws'
import { codex } from '../src/codex.ts'
import { codexVersions } from '../test/codex/codex-stage.ts'
import { playDesk } from '../test/codex/desk-scene.ts'
import { startListener, listenerToken as token } from '../test/codex/listener.ts'

for (const version of process.argv.length > 2 ? process.argv.slice(2) : codexVersions) {
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
  const chat = connectSource(codex({ url: `ws://127.0.0.1:${port}`, token }))
  await chat.ready
  const desk = connectSource(codex({ url: listener.url, token }))
  const replies = await playDesk(chat, directory, { desk, model })
  await Promise.all([chat.close(), desk.close()])
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
  writeFileSync(new URL(`../recordings/codex/${version}/desk.jsonl`, import.meta.url), `${begun.join('\n')}\n`)
  process.stdout.write(`${version}: ${begun.length} lines, ${replies.map(({ outcome }) => outcome).join(', ')}\n`)
}
