import type { BridgeConfig } from '../config/schema.ts'
import { secretNamesIn } from './connect-server.ts'
import { isLoopback } from './loopback.ts'

/** What an operator has to know of a server of the config. Empty if there is nothing. Names no secret's value. */
export function warningsOf(config: BridgeConfig, name: string): readonly string[] {
  const { url, password, agent } = config.servers[name] ?? {}
  const names = secretNamesIn(config)
  const people = Object.keys(config.people).filter((one) => !config.people[one]?.may.includes('approve'))
  return [
    ...(url !== undefined && !password && isLoopback(new URL(url).hostname)
      ? [
          `Every program and user of this computer can use ${url}, as it has no password. Start the server with OPENCODE_SERVER_PASSWORD, and name its \`password\` in the config.`,
        ]
      : []),
    ...(agent !== undefined && names.length > 0
      ? [
          `The agent of ${name} runs as the same user, so commands that it runs can read ${names.join(', ')} in this process's environment (/proc). Put these secrets into files outside its folder: { "file": "…" }.`,
        ]
      : []),
    ...(config.servers[name]?.trustPrompt && people.length > 0
      ? [`trustPrompt: ${people.join(', ')} can have commands run on ${name} without anyone being asked.`]
      : []),
  ]
}
