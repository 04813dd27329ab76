import type { Model } from '../reply.ts'

/** Where a prompt or command runs, and who answers. */
export interface SessionInput {
  /** An existing root session. Default: a new one. */
  readonly sessionID?: string | undefined
  /** Title of a new session. Default: the server generates one. */
  readonly title?: string | undefined
  /** The agent that answers, such as `plan`. Default: the server's. */
  readonly agent?: string | undefined
  /** The model that answers. Default: the server's, for the agent and the session. */
  readonly model?: Model | undefined
  /** A variant of the model, such as `high` for its reasoning effort. Default: the agent's. Servers before 1.2 ignore it. */
  readonly variant?: string | undefined
  /**
   * Runs the prompt only in a session in which the agent asks before it acts: before it edits a file, fetches a page, uses
   * an MCP tool or starts a sub-agent. Reading files of the project is not asked. For prompts of people who may not
   * approve. From OpenCode 1.14 on the session gets permission rules for that, and keeps them. It has no shell then, as
   * OpenCode 1 doesn't ask for all that a shell runs. Other servers need the rules in their own config. The reply fails
   * with `unguarded` where the agent can't be told so. Default false.
   */
  readonly guarded?: boolean | undefined
}

/**
 * When a session that is at work begins a prompt: `steer` after the step at work and its tools, `queue` when the run
 * would end.
 */
export type PromptDelivery = 'steer' | 'queue'

/** A prompt. It needs a text that isn't blank, a part or a file, else `prompt` throws `invalid`. */
export interface PromptInput extends SessionInput {
  /** What to ask, as Markdown. */
  readonly text?: string | undefined
  /** Further parts, after the text. */
  readonly parts?: readonly InputPart[] | undefined
  /** Files to attach, after the text and the parts. */
  readonly files?: readonly PromptFile[] | undefined
  /** Only stores the message; nothing runs, the reply settles at once. */
  readonly noReply?: boolean | undefined
  /**
   * When a session that is at work begins it. Either way the running reply takes it in; in an idle session it makes no
   * difference. Default `steer`, or on a server that runs one prompt at a time, after the run. OpenCode 1 can't queue:
   * the reply fails with `unsupported`.
   */
  readonly delivery?: PromptDelivery | undefined
  /** Added to the system prompt for this run. */
  readonly system?: string | undefined
  /** Switches tools on (`true`) or off (`false`) by name, for this run. Default: the agent's. */
  readonly tools?: Readonly<Record<string, boolean>> | undefined
  /** What the answer must look like. `ReplyStream.output` is the parsed value. Default: text. */
  readonly format?: OutputFormat | undefined
}

/** A JSON Schema that the answer must fulfill. */
export interface OutputFormat {
  readonly type: 'json_schema'
  /** The schema of the value, of type `object`. */
  readonly schema: Readonly<Record<string, unknown>>
  /** How often the model may try again after an invalid value. Default: the server's. */
  readonly retryCount?: number | undefined
}

/** A part of a prompt: a text, a file, a mentioned agent, or a task for a sub-agent. */
export type InputPart =
  | { readonly type: 'text'; readonly text: string; readonly synthetic?: boolean | undefined }
  | ({ readonly type: 'file' } & PromptFile)
  | { readonly type: 'agent'; readonly name: string }
  | { readonly type: 'subtask'; readonly prompt: string; readonly description: string; readonly agent: string }

/** A file for a prompt. */
export interface PromptFile {
  /** `file://`, `data:` or `http(s)://`. */
  readonly url: string
  /** Its MIME type: `text/plain`, `image/png`, … */
  readonly mime: string
  /** Its name for the model and for people. */
  readonly filename?: string | undefined
}

/** A slash command of the server. */
export interface CommandInput extends SessionInput {
  /** The command's name without the slash. */
  readonly command: string
  /** What follows the command's name. Default: nothing. */
  readonly arguments?: string | undefined
}
