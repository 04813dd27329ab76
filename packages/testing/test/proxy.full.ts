import { expect, test } from 'vitest'
import { launchOpencode, sayText, startModel, startProxy } from '../src/index.ts'

test('the stream comes back after a real server restarts behind the proxy', async () => {
  const model = await startModel({ scripts: { one: { steps: [[sayText('One.')]] } } })
  const opencode = await launchOpencode({ model })
  let restarting: Promise<void> | undefined
  const onFrame = (): void => {
    restarting ??= opencode.kill().then(opencode.restart)
  }
  const proxy = await startProxy({ target: opencode.url, onFrame })
  const stream = async (): Promise<string> => {
    const response = await fetch(`${proxy.url}/global/event`)
    let said = ''
    try {
      for await (const chunk of response.body ?? []) said += Buffer.from(chunk).toString('utf8')
    } catch {
      return said
    }
    return `${said} (ended)`
  }
  expect(/"type":"([\w.]+)"/.exec(await stream())?.[1]).toBe('server.connected')
  await restarting
  const second = stream()
  await expect.poll(() => proxy.openStreams).toBe(1)
  await proxy.close()
  await second
  await opencode.stop()
  await model.close()
})
