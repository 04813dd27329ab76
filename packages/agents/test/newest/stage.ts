import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '@reply/core'
import type { ScriptedModel } from '@reply/testing'

/** Where a scene is played: a real agent with a scripted model, in a home and a folder of its own. */
export interface NewestStage {
  /** A client of the agent. Another one after `restart`. */
  readonly client: () => Client
  readonly model: ScriptedModel
  readonly directory: string
  /** The mode of the agent that asks before it acts. Absent if it does so by default. */
  readonly mode?: string | undefined
  /** Whether its permissions come without the call that they are about. Default: they have it, if only a moment later. */
  readonly asksWithoutCall?: boolean | undefined
  /** Closes the client, and starts the agent again in the same home and folder. */
  restart(): Promise<void>
  /** Kills the agent with all of its processes, as a crash does. */
  kill(): Promise<void>
  /** What the agent wrote so far, parsed, for its shapes. */
  lines(): readonly unknown[]
  /** Ends the agent and the model, and removes the folders. */
  close(): Promise<void>
}

/** The ids of the processes that run in a home: their variable `HOME` is in it, or their folder. Linux only. */
export function processesIn(home: string): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => pid !== process.pid && isIn(pid, home))
}

function isIn(pid: number, home: string): boolean {
  try {
    if (readlinkSync(`/proc/${pid}/cwd`).startsWith(home)) return true
    return readFileSync(`/proc/${pid}/environ`, 'utf8').includes(`HOME=${home}`)
  } catch {
    // It has ended, or belongs to another user.
    return false
  }
}

/** Kills all processes that run in a home, and waits until they have ended. */
export async function killAllIn(home: string): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const found = processesIn(home)
    if (found.length === 0) return
    for (const pid of found) {
      try {
        process.kill(pid, 'SIGKILL')
      } catch {
        // It has ended since.
      }
    }
    await sleep(50)
  }
}
