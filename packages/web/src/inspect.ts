export {
  type ChannelBudget,
  type ChannelCall,
  type ChannelLog,
  type ChannelText,
  type ChatMessage,
  type ChatPicture,
  chatAt,
} from './inspect/channel.ts'
export type { FrameKind, HeldFrame, InspectedFrame, InspectedStep, NoEvents, ReadFrame } from './inspect/frame.ts'
export type { InspectedReply } from './inspect/player.ts'
export { type FrameReader, openRecording, readFrames } from './inspect/read-frames.ts'
export { createRecording, type OpenedRecording, type ReplyName } from './inspect/recording.ts'
