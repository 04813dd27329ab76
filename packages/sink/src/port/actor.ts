/** A person or chat that did something. */
export interface Actor {
  /** The platform's unique id. Unlike the name, it can't be chosen. */
  readonly id: string
  /** The display name. People choose it, so it proves nothing. */
  readonly name: string
  /** The id of the person's workspace. Only on Slack, with messages. */
  readonly teamID?: string | undefined
  /** A chat posted it rather than a known person: a channel, or an anonymous administrator. It can't answer asks. */
  readonly isAnonymous?: true | undefined
}
