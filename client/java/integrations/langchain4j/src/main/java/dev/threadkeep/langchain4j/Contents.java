package dev.threadkeep.langchain4j;

import com.google.protobuf.ByteString;
import dev.langchain4j.data.audio.Audio;
import dev.langchain4j.data.image.Image;
import dev.langchain4j.data.message.AudioContent;
import dev.langchain4j.data.message.Content;
import dev.langchain4j.data.message.ImageContent;
import dev.langchain4j.data.message.PdfFileContent;
import dev.langchain4j.data.message.TextContent;
import dev.langchain4j.data.message.VideoContent;
import dev.threadkeep.Events;
import dev.threadkeep.v1.DataPart;
import dev.threadkeep.v1.MediaPart;
import dev.threadkeep.v1.Part;
import java.net.URI;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Locale;

/** LangChain4j's contents as parts, and back. */
final class Contents {
  private static final String PDF = "application/pdf";

  private Contents() {}

  static Part partOf(Content content) {
    if (content instanceof TextContent text) {
      return Events.text(text.text());
    } else if (content instanceof ImageContent image) {
      return partOf(image.image(), image.detailLevel() == null ? "" : image.detailLevel().name().toLowerCase(Locale.ROOT));
    } else if (content instanceof AudioContent audio) {
      String data = audio.audio().base64Data();
      byte[] bytes = audio.audio().binaryData();
      return media(type(audio.audio().mimeType(), "audio/mpeg"), audio.audio().url(), data == null && bytes != null ? Base64.getEncoder().encodeToString(bytes) : data, "");
    } else if (content instanceof VideoContent video) {
      return media(type(video.video().mimeType(), "video/mp4"), video.video().url(), video.video().base64Data(), "");
    } else if (content instanceof PdfFileContent pdf) {
      return media(PDF, pdf.pdfFile().url(), pdf.pdfFile().base64Data(), "");
    }
    var data = DataPart.newBuilder().setType("langchain4j." + content.type().name().toLowerCase(Locale.ROOT)).setJson("{}");
    return Part.newBuilder().setData(data).build();
  }

  static Part partOf(Image image, String detail) {
    return media(type(image.mimeType(), "image/png"), image.url(), image.base64Data(), detail);
  }

  private static String type(String given, String otherwise) {
    return given == null ? otherwise : given;
  }

  private static Part media(String type, URI url, String data, String detail) {
    var part = MediaPart.newBuilder().setMimeType(type).setDetail(detail);
    if (url != null) {
      part.setUri(url.toString());
    } else if (data != null) {
      part.setData(ByteString.copyFrom(Base64.getDecoder().decode(data)));
    }
    return Part.newBuilder().setMedia(part).build();
  }

  /** Returns the texts and media among parts. Media of a type that LangChain4j does not have is read as the text of its type. */
  static List<Content> of(List<Part> parts) {
    List<Content> found = new ArrayList<>();
    for (Part part : parts) {
      if (part.hasText() && !part.getText().isEmpty()) {
        found.add(TextContent.from(part.getText()));
      } else if (part.hasMedia()) {
        found.add(contentOf(part.getMedia()));
      }
    }
    return found;
  }

  static List<Image> images(List<Part> parts) {
    return parts.stream().filter(Part::hasMedia).map(Part::getMedia).filter(media -> media.getMimeType().startsWith("image/")).map(Contents::image).toList();
  }

  private static Content contentOf(MediaPart media) {
    String type = media.getMimeType();
    boolean linked = media.hasUri();
    String data = Base64.getEncoder().encodeToString(media.getData().toByteArray());
    if (type.startsWith("image/")) {
      return ImageContent.from(image(media));
    } else if (type.startsWith("audio/")) {
      return linked ? AudioContent.from(media.getUri()) : AudioContent.from(Audio.builder().base64Data(data).mimeType(type).build());
    } else if (type.startsWith("video/")) {
      return linked ? VideoContent.from(media.getUri()) : VideoContent.from(data, type);
    } else if (type.equals(PDF)) {
      return linked ? PdfFileContent.from(media.getUri()) : PdfFileContent.from(data, type);
    }
    return TextContent.from("[" + (type.isEmpty() ? "media" : type) + (linked ? " " + media.getUri() : "") + "]");
  }

  private static Image image(MediaPart media) {
    var image = Image.builder().mimeType(media.getMimeType());
    if (media.hasUri()) {
      return image.url(media.getUri()).build();
    }
    return image.base64Data(Base64.getEncoder().encodeToString(media.getData().toByteArray())).build();
  }
}
