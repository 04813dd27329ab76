import type { Model } from '../reply.ts'

/** Where a prompt or command runs, and which agent and model answer it. */
export interface SessionInput {
  /** The id of an existing root session. Default: a new session. */
  readonly sessionID?: string | undefined
  /** The title of a new session. Default: the server generates one. */
  readonly title?: string | undefined
  /** The agent that answers, for example `plan`. Default: the server's. */
  readonly agent?: string | undefined
  /** The model that answers. Default: the server's choice for the agent and the session. */
  readonly model?: Model | undefined
  /**
   * A variant of the model, for example `high` for its reasoning effort. Default: the agent's. Servers before 1.2
   * ignore it.
   */
  readonly variant?: string | undefined
  /**
   * Runs the prompt only if the agent asks before it acts: before it edits a file, fetches a page, uses an MCP tool or
   * starts a sub-agent. It may read files of the project without asking. Set it for prompts of people who may not
   * approve. OpenCode 1.14 and newer get permission rules for the session, which stay. The shell is off in such a
   * session, because OpenCode 1 doesn't ask for everything that a shell runs. Other servers need the rules in their own
   * config. The reply fails with `unguarded` if the agent can't be set up this way. Default: false.
   */
  readonly guarded?: boolean | undefined
}

/**
 * When a busy session begins a prompt: with `steer` after the current step and its tools, with `queue` when the run
 * would otherwise end.
 */
export type PromptDelivery = 'steer' | 'queue'

/**
 * A prompt. Needs a text that isn't blank, a part or a file, otherwise `prompt` throws `invalid`. For example `{ text:
 * 'Why does the build fail?' }`.
 */
export interface PromptInput extends SessionInput {
  /** The prompt's text, as Markdown. */
  readonly text?: string | undefined
  /** More parts, placed after the text. */
  readonly parts?: readonly InputPart[] | undefined
  /** Files to attach, placed after the text and the parts. */
  readonly files?: readonly PromptFile[] | undefined
  /** Only stores the message. Nothing runs, and the reply settles at once. */
  readonly noReply?: boolean | undefined
  /**
   * When a busy session begins the prompt. The running reply includes it in either case. Has no effect in an idle
   * session. Default: `steer`, or after the run on a server that runs one prompt at a time. With `queue`, the reply
   * fails as `unsupported` on OpenCode 1, which has no queue.
   */
  readonly delivery?: PromptDelivery | undefined
  /** Added to the system prompt for this run. */
  readonly system?: string | undefined
  /** Turns tools on (`true`) or off (`false`) by name, for this run. Default: the agent's tools. */
  readonly tools?: Readonly<Record<string, boolean>> | undefined
  /** Makes the agent answer with a value of this format, which `ReplyStream.output` returns parsed. Default: text. */
  readonly format?: OutputFormat | undefined
}

/** A JSON Schema that the answer must fulfill. */
export interface OutputFormat {
  readonly type: 'json_schema'
  /** The schema of the value, of type `object`. */
  readonly schema: Readonly<Record<string, unknown>>
  /** How often the model may retry after an invalid value. Default: the server's. */
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
  /** Where the file is: a `file://`, `data:` or `http(s)://` URL. */
  readonly url: string
  /** Its MIME type, for example `text/plain` or `image/png`. */
  readonly mime: string
  /** Its name, shown to the model and to people. */
  readonly filename?: string | undefined
}

/** A slash command of the server. */
export interface CommandInput extends SessionInput {
  /** The command's name without the slash. */
  readonly command: string
  /** The text after the command's name. Default: none. */
  readonly arguments?: string | undefined
}
