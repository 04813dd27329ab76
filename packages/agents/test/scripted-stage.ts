import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type ScriptedModel, type Scripts, startModel } from '@reply/testing'

/** A scripted model, and a home and a folder for the agent that talks to it. */
export interface ScriptedStage {
  readonly model: ScriptedModel
  readonly home: string
  readonly directory: string
  /** Ends the model and removes the folders. */
  close(): Promise<void>
}

/**
 * `files` are written into the home. Scripts may depend on the folder. Without a scenario in its prompt, the script
 * `plain` answers.
 */
export async function startScripted(
  scripts: Scripts | ((directory: string) => Scripts),
  files: (model: ScriptedModel) => Readonly<Record<string, string>> = () => ({}),
): Promise<ScriptedStage> {
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'reply-home-')))
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'reply-project-')))
  const given = typeof scripts === 'function' ? scripts(directory) : scripts
  const model = await startModel({ scripts: given, fallback: 'plain' })
  for (const [name, content] of Object.entries(files(model))) {
    mkdirSync(dirname(join(home, name)), { recursive: true })
    writeFileSync(join(home, name), content)
  }
  return {
    model,
    home,
    directory,
    close: async () => {
      await model.close()
      // An agent writes its files until it has ended.
      for (const folder of [home, directory])
        await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
    },
  }
}

/** Claude Code's environment on such a stage. */
export const claudeEnv = ({ model, home }: ScriptedStage) => ({
  HOME: home,
  ANTHROPIC_BASE_URL: model.origin,
  ANTHROPIC_API_KEY: 'scripted-key',
  CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
})

/** Codex's settings, which name the model of its stage, … */
export const codexFiles = ({ url }: ScriptedModel) => {
  const provider = ['name = "Scripted"', `base_url = "${url}"`, 'wire_api = "responses"', 'env_key = "SCRIPTED_KEY"']
  const head = ['model = "scripted"', 'model_provider = "scripted"', '[model_providers.scripted]']
  return { '.codex/config.toml': [...head, ...provider].join('\n') }
}

/** … and its environment. */
export const codexEnv = ({ home }: ScriptedStage) => ({
  HOME: home,
  CODEX_HOME: join(home, '.codex'),
  SCRIPTED_KEY: 'scripted-key',
})
