import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Environment } from '../terminal/surface.ts'

/** The server that `opencode` 2 keeps running in the background. */
export interface ManagedService {
  readonly url: string
  readonly password: string
}

/** The service whose process is alive. Undefined if none is registered, or if the file can't be read. */
export function managedService(env: Environment): ManagedService | undefined {
  const file = registrationOf(env)
  if (file === undefined) return undefined
  try {
    const { url, password, pid }: Readonly<Record<string, unknown>> = JSON.parse(readFileSync(file, 'utf8'))
    if (typeof url !== 'string' || typeof password !== 'string' || typeof pid !== 'number') return undefined
    return URL.canParse(url) && isAlive(pid) ? { url, password } : undefined
  } catch {
    return undefined
  }
}

/** OpenCode 2 writes `{id, version, url, pid, password}` there. */
function registrationOf({ XDG_STATE_HOME, HOME, USERPROFILE }: Environment): string | undefined {
  const home = HOME || USERPROFILE
  const state = XDG_STATE_HOME || (home && join(home, '.local', 'state'))
  return state ? join(state, 'opencode', 'service.json') : undefined
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // The process belongs to another user.
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}
