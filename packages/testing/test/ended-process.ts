import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'

/** Whether a server answers. One that has ended refuses at once. */
export const isUp = async (url: string): Promise<boolean> => {
  try {
    return (await fetch(`${url}/global/health`)).ok
  } catch {
    return false
  }
}

/** Runs a fixture that launches a server, and resolves once it has told the server's address and folder. */
export const startFixture = async (name: string) => {
  const script = fileURLToPath(new URL(`./fixtures/${name}.ts`, import.meta.url))
  const tsx = import.meta.resolve('tsx')
  const child = spawn(process.execPath, ['--import', tsx, '--conditions', '@reply/source', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  const said = await Promise.race([once(child.stdout, 'data'), ended.then(() => expect.fail('It did not start.'))])
  const { url, root } = JSON.parse(String(said[0])) as { url: string; root: string }
  return { child, ended, url, root }
}

/** Ends a process that has launched a server, and waits until the server and its folders are gone as well. */
export const endProcess = async (signal: 'SIGTERM' | 'SIGKILL'): Promise<void> => {
  const { child, ended, url, root } = await startFixture('interrupted')
  expect([await isUp(url), existsSync(root)]).toEqual([true, true])
  child.kill(signal)
  expect((await ended)[1]).toBe(signal)
  await expect.poll(async () => [await isUp(url), existsSync(root)]).toEqual([false, false])
}
