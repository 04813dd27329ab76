import type { OpencodeConfig } from './config.ts'
import { type Script, type ScriptStep, type Scripts, scenarioToken } from './script.ts'

/** A named situation: the scripts of the model, and the settings of the server. */
export interface Scenario {
  /** Names the scenario and its first script. */
  readonly name: string
  /** One sentence about what its recording shows. */
  readonly shows: string
  /** By the name in the token. The script with the scenario's own name answers its first prompt. */
  readonly scripts: Scripts
  /** Settings of the server. Default: none besides the scripted model. */
  readonly config?: OpencodeConfig
  /** Files of the project, by path. Default: only its README. */
  readonly files?: Readonly<Record<string, string>>
  /** Added to the server's environment. */
  readonly env?: Readonly<Record<string, string>>
  /** Whether the model keeps connections open between requests. Default true. */
  readonly keepAlive?: boolean
}

/** The model's script in a scenario, and the settings of the server. */
interface ScenarioScript extends Omit<Scenario, 'name' | 'shows' | 'scripts'> {
  /** Steps of the script with the scenario's own name. */
  readonly steps: readonly ScriptStep[]
  /** The answer to a title request. */
  readonly title?: string
  /** The answer to a summary request (compaction). */
  readonly summary?: ScriptStep
  /** Further scripts, by the name after `scenario/`. */
  readonly more?: Readonly<Record<string, readonly ScriptStep[]>>
}

/** Returns a scenario whose first script has its name. `[scenario:name/further]` selects one of its further scripts. */
export const scenario = (name: string, shows: string, options: ScenarioScript): Scenario => {
  const { steps, title, summary, more = {}, ...rest } = options
  const own: Script = {
    steps,
    ...(title === undefined ? {} : { title }),
    ...(summary === undefined ? {} : { summary }),
  }
  const further = Object.entries(more).map(([key, each]): [string, Script] => [`${name}/${key}`, { steps: each }])
  return { name, shows, scripts: { [name]: own, ...Object.fromEntries(further) }, ...rest }
}

/** Returns a prompt that plays this scenario's first script: the request with the scenario's token behind it. */
export const promptFor = (name: string, request = 'Please do what the script says.'): string =>
  `${request} ${scenarioToken(name)}`
