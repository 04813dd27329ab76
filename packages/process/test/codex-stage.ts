import { mkdirSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SourceStage } from '@reply/core/testing'
import { hold, reasoning, type Scripts, startModel, text, tool } from '@reply/testing'
import { codex } from '../src/index.ts'

const exec = (command: string) =>
  tool('exec_command', { cmd: command, sandbox_permissions: 'require_escalated', justification: 'May I make a file?' })

const codexScripts: Scripts = {
  plain: { steps: [[reasoning('Let me think.'), text('Hello there, nice to meet you.')]] },
  endless: { steps: [[text('I begin. '), hold('forever'), text('never')]] },
  permission: { steps: [[text('I run it.'), exec('touch made.txt && echo made')], [text('It is made.')]] },
  always: { steps: [[exec('touch always.txt')], [text('It is made again.')]] },
}

/** Codex with a scripted model, in a home and a folder of its own. */
export async function startCodexStage(command: string): Promise<SourceStage> {
  const model = await startModel({ scripts: codexScripts, fallback: 'plain' })
  const home = realpathSync(mkdtempSync(join(tmpdir(), 'reply-codex-')))
  const directory = realpathSync(mkdtempSync(join(tmpdir(), 'reply-codex-')))
  mkdirSync(join(home, '.codex'))
  const provider = [
    `name = "Scripted"`,
    `base_url = "${model.url}"`,
    'wire_api = "responses"',
    'env_key = "SCRIPTED_KEY"',
  ]
  const config = ['model = "scripted"', 'model_provider = "scripted"', '[model_providers.scripted]', ...provider]
  writeFileSync(join(home, '.codex', 'config.toml'), config.join('\n'))
  const env = { HOME: home, CODEX_HOME: join(home, '.codex'), SCRIPTED_KEY: 'scripted-key' }
  const source = codex({ command, cwd: directory, env, approvalPolicy: 'on-request', sandbox: 'read-only' })
  return {
    source,
    unreachable: codex({ command: 'no-such-codex', env }),
    directory,
    secrets: ['scripted-key'],
    prompts: {
      plain: { text: '[scenario:plain] Go.', answer: 'Hello there, nice to meet you.' },
      endless: '[scenario:endless] Go.',
      permission: '[scenario:permission] Go.',
      always: '[scenario:always] Go.',
    },
    close: async () => {
      source.close()
      await model.close()
      // It writes its files until it has ended.
      for (const folder of [home, directory])
        await rm(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 })
    },
  }
}
