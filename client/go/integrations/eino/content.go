package eino

import (
	"cmp"
	"encoding/base64"
	"strings"

	"github.com/cloudwego/eino/schema"

	"github.com/threadkeep/threadkeep-go"
	"github.com/threadkeep/threadkeep-go/internal/adapters"
	pb "github.com/threadkeep/threadkeep-go/threadkeep/v1"
)

// contentParts returns the content of a message, of which Eino has four forms: the first one that is set counts.
func contentParts(message *schema.Message) []*threadkeep.Part {
	var parts []*threadkeep.Part
	switch {
	case len(message.UserInputMultiContent) > 0:
		for _, part := range message.UserInputMultiContent {
			parts = append(parts, inputPart(part))
		}
	case len(message.AssistantGenMultiContent) > 0:
		for _, part := range message.AssistantGenMultiContent {
			parts = append(parts, outputPart(part))
		}
	case len(message.MultiContent) > 0:
		for _, part := range message.MultiContent {
			parts = append(parts, olderPart(part))
		}
	case message.Content != "" || (len(message.ToolCalls) == 0 && message.ReasoningContent == ""):
		parts = append(parts, threadkeep.Text(adapters.Clean(message.Content)))
	}
	return parts
}

func inputPart(part schema.MessageInputPart) *threadkeep.Part {
	switch {
	case part.Type == schema.ChatMessagePartTypeText:
		return threadkeep.Text(adapters.Clean(part.Text))
	case part.Image != nil:
		return mediaPart(part.Image.MessagePartCommon, "image/*", "", string(part.Image.Detail))
	case part.Audio != nil:
		return mediaPart(part.Audio.MessagePartCommon, "audio/*", "", "")
	case part.Video != nil:
		return mediaPart(part.Video.MessagePartCommon, "video/*", "", "")
	case part.File != nil:
		return mediaPart(part.File.MessagePartCommon, "application/octet-stream", part.File.Name, "")
	}
	return adapters.DataPart("eino."+string(part.Type), part)
}

func outputPart(part schema.MessageOutputPart) *threadkeep.Part {
	switch {
	case part.Type == schema.ChatMessagePartTypeText:
		return threadkeep.Text(adapters.Clean(part.Text))
	case part.Image != nil:
		return mediaPart(part.Image.MessagePartCommon, "image/*", "", "")
	case part.Audio != nil:
		return mediaPart(part.Audio.MessagePartCommon, "audio/*", "", "")
	case part.Video != nil:
		return mediaPart(part.Video.MessagePartCommon, "video/*", "", "")
	}
	return adapters.DataPart("eino."+string(part.Type), part)
}

// olderPart returns a part of MultiContent, which Eino deprecates.
func olderPart(part schema.ChatMessagePart) *threadkeep.Part {
	switch {
	case part.Type == schema.ChatMessagePartTypeText:
		return threadkeep.Text(adapters.Clean(part.Text))
	case part.ImageURL != nil:
		image := urlPart(cmp.Or(part.ImageURL.URL, part.ImageURL.URI), cmp.Or(part.ImageURL.MIMEType, "image/*"), "")
		image.GetMedia().Detail = adapters.Clean(string(part.ImageURL.Detail))
		return image
	case part.AudioURL != nil:
		return urlPart(cmp.Or(part.AudioURL.URL, part.AudioURL.URI), cmp.Or(part.AudioURL.MIMEType, "audio/*"), "")
	case part.VideoURL != nil:
		return urlPart(cmp.Or(part.VideoURL.URL, part.VideoURL.URI), cmp.Or(part.VideoURL.MIMEType, "video/*"), "")
	case part.FileURL != nil:
		return urlPart(cmp.Or(part.FileURL.URL, part.FileURL.URI), part.FileURL.MIMEType, part.FileURL.Name)
	}
	return adapters.DataPart("eino."+string(part.Type), part)
}

func urlPart(url, mimeType, name string) *threadkeep.Part {
	part := adapters.URLMedia(mimeType, url)
	part.GetMedia().Name = adapters.Clean(name)
	return part
}

func mediaPart(common schema.MessagePartCommon, kind, name, detail string) *threadkeep.Part {
	mimeType := cmp.Or(common.MIMEType, kind)
	var part *threadkeep.Part
	if common.Base64Data != nil {
		if data, err := base64.StdEncoding.DecodeString(*common.Base64Data); err == nil {
			part = threadkeep.InlineMedia(adapters.Clean(mimeType), data)
		}
	}
	if part == nil {
		url := ""
		if common.URL != nil {
			url = *common.URL
		}
		part = adapters.URLMedia(mimeType, url)
	}
	part.GetMedia().Name, part.GetMedia().Detail = adapters.Clean(name), adapters.Clean(detail)
	return part
}

// setContent sets the content of a message: a text if there are only texts, otherwise its parts.
func setContent(message *schema.Message, parts []*threadkeep.Part) {
	var texts []string
	hasMedia := false
	for _, part := range parts {
		hasMedia = hasMedia || part.GetMedia() != nil
		if text, ok := textOf(part); ok {
			texts = append(texts, text)
		}
	}
	if !hasMedia {
		message.Content = strings.Join(texts, "\n")
		return
	}
	for _, part := range parts {
		if message.Role == schema.Assistant {
			message.AssistantGenMultiContent = append(message.AssistantGenMultiContent, shownOutput(part))
		} else {
			message.UserInputMultiContent = append(message.UserInputMultiContent, shownInput(part))
		}
	}
}

// textOf returns texts, and data as JSON.
func textOf(part *threadkeep.Part) (string, bool) {
	switch content := part.GetContent().(type) {
	case *pb.Part_Text:
		return content.Text, true
	case *pb.Part_Data:
		return content.Data.GetJson(), true
	}
	return "", false
}

func shownInput(part *threadkeep.Part) schema.MessageInputPart {
	media := part.GetMedia()
	common, ok := commonOf(media)
	if !ok {
		text, isText := textOf(part)
		if !isText {
			text = "file " + media.GetFileId()
		}
		return schema.MessageInputPart{Type: schema.ChatMessagePartTypeText, Text: text}
	}
	switch family, _, _ := strings.Cut(media.GetMimeType(), "/"); family {
	case "image":
		image := &schema.MessageInputImage{MessagePartCommon: common, Detail: schema.ImageURLDetail(media.GetDetail())}
		return schema.MessageInputPart{Type: schema.ChatMessagePartTypeImageURL, Image: image}
	case "audio":
		return schema.MessageInputPart{Type: schema.ChatMessagePartTypeAudioURL, Audio: &schema.MessageInputAudio{MessagePartCommon: common}}
	case "video":
		return schema.MessageInputPart{Type: schema.ChatMessagePartTypeVideoURL, Video: &schema.MessageInputVideo{MessagePartCommon: common}}
	}
	file := &schema.MessageInputFile{MessagePartCommon: common, Name: media.GetName()}
	return schema.MessageInputPart{Type: schema.ChatMessagePartTypeFileURL, File: file}
}

// shownOutput returns a part of the model's message; of files, which these do not have, the name or the URL as text.
func shownOutput(part *threadkeep.Part) schema.MessageOutputPart {
	shown := shownInput(part)
	switch {
	case shown.Image != nil:
		return schema.MessageOutputPart{Type: shown.Type, Image: &schema.MessageOutputImage{MessagePartCommon: shown.Image.MessagePartCommon}}
	case shown.Audio != nil:
		return schema.MessageOutputPart{Type: shown.Type, Audio: &schema.MessageOutputAudio{MessagePartCommon: shown.Audio.MessagePartCommon}}
	case shown.Video != nil:
		return schema.MessageOutputPart{Type: shown.Type, Video: &schema.MessageOutputVideo{MessagePartCommon: shown.Video.MessagePartCommon}}
	case shown.File != nil:
		media := part.GetMedia()
		text := cmp.Or(media.GetUri(), media.GetName(), media.GetMimeType())
		return schema.MessageOutputPart{Type: schema.ChatMessagePartTypeText, Text: text}
	}
	return schema.MessageOutputPart{Type: schema.ChatMessagePartTypeText, Text: shown.Text}
}

// commonOf returns bytes or a URL; not the id of a file at a provider.
func commonOf(media *pb.MediaPart) (schema.MessagePartCommon, bool) {
	common := schema.MessagePartCommon{}
	if !strings.Contains(media.GetMimeType(), "*") {
		common.MIMEType = media.GetMimeType()
	}
	switch source := media.GetSource().(type) {
	case *pb.MediaPart_Data:
		common.Base64Data = base64Of(source.Data)
	case *pb.MediaPart_Uri:
		common.URL = &source.Uri
	default:
		return common, false
	}
	return common, true
}
