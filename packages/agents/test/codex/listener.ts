import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { agentBinary } from '@reply/testing/internal'
import { startProcess } from '../../src/process/start-process.ts'
import { codexEnv, codexFiles, type ScriptedStage, startScripted } from '../scripted-stage.ts'
import { codexScripts } from './codex-stage.ts'

export const listenerToken = 'listener-token-1234567890'

/** A running `codex app-server` that listens. */
export interface Listener extends ScriptedStage {
  readonly url: string
  /** Ends it at once, in the middle of its turns. Its model, home and folder stay. */
  kill(): Promise<void>
}

/**
 * Starts a listener with a scripted model at a free port. After the kill of another one, starts it again at its port, with its
 * model, home and folder.
 */
export async function startListener(version: string, killed?: Listener): Promise<Listener> {
  const stage = killed ?? (await startScripted(codexScripts, codexFiles))
  const tokenFile = join(stage.home, 'token')
  writeFileSync(tokenFile, listenerToken, { mode: 0o600 })
  const child = await startProcess({
    command: await agentBinary('codex', version),
    args: [
      ...['app-server', '--listen', killed?.url ?? 'ws://127.0.0.1:0'],
      ...['--ws-auth', 'capability-token', '--ws-token-file', tokenFile],
      ...['-c', 'approval_policy="on-request"', '-c', 'sandbox_mode="read-only"'],
    ],
    cwd: stage.directory,
    env: codexEnv(stage),
    graceMs: 500,
  })
  child.stdout.resume()
  let shown = ''
  const url = await new Promise<string>((resolve, reject) => {
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      shown += text
      const found = /listening on: .*?(ws:\/\/127\.0\.0\.1:\d+)/.exec(shown)?.[1]
      if (found) resolve(found)
    })
    void child.ended.then(() => reject(new Error(`Codex ended: ${shown}`)))
  })
  return {
    ...stage,
    url,
    kill: async () => {
      process.kill(-child.pid, 'SIGKILL')
      await child.ended
    },
    close: async () => {
      await child.close()
      await stage.close()
    },
  }
}
